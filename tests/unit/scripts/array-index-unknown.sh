#!/bin/bash
#SBATCH --array=0-99%10
#SBATCH -n 1
SEEDS=(11 22 33)
srun ./monte_carlo --seed ${SEEDS[$SLURM_ARRAY_TASK_ID]} -o out.$SLURM_ARRAY_TASK_ID
