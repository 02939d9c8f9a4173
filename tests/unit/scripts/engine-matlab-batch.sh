#!/bin/bash
#SBATCH --array=1-40
#SBATCH -c 4
module load matlab/R2023a
matlab -batch "tides(${SLURM_ARRAY_TASK_ID})"
