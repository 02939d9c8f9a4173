#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export HYDRA_FULL_ERROR=1
srun python train.py
