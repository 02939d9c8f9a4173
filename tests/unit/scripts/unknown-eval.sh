#!/bin/bash
#SBATCH --array=1-100
CMD=$(awk NR==$SLURM_ARRAY_TASK_ID commands.lst)
echo running $CMD
eval $CMD
