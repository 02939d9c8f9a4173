#!/bin/bash
#SBATCH --array=1-9
#SBATCH -n 1
srun $(sed -n ${SLURM_ARRAY_TASK_ID}p jobs.txt)
