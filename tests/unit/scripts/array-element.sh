#!/bin/bash
#SBATCH --array=0-2
CODES=(./euler ./rk4 ./leapfrog)
srun ${CODES[1]} --task $SLURM_ARRAY_TASK_ID
