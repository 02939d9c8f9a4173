#!/bin/bash
#SBATCH -t 02:00:00
export ASE_DFTB_COMMAND='dftb+ > PREFIX.out'
python neb.py
