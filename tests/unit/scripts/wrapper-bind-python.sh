#!/bin/bash
#SBATCH -n 8
#SBATCH -N 2
srun ./bind_gpu.sh python -u flow/train.py --amp
