#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load Python/3.11.3-GCCcore-12.3.0
srun python train.py
