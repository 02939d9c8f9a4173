#!/bin/bash
#SBATCH --array=0-2
#SBATCH -n 4
apps=(./cg ./mg ./ft)
srun ${apps[$SLURM_ARRAY_TASK_ID]} C
