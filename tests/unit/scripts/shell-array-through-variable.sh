#!/bin/bash
#SBATCH --array=0-1
id=$SLURM_ARRAY_TASK_ID
models=(lasso ridge)
python fit_${models[$id]}.py
