#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mvapich-plus
export MVP_USE_CUDA=1
srun ./jets
