#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export MPICH_GPU_SUPPORT_ENABLED=1
srun --gpus-per-task=1 ./train_step
