#!/bin/bash
#SBATCH -t 02:00:00
eval "$(conda shell.bash hook)"
conda activate chem
python conformers.py
