#!/bin/bash
#SBATCH --gpus=8
python big.py
