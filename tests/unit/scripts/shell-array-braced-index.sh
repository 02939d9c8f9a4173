#!/bin/bash
#SBATCH --array=1-3
sets=(toy small large)
python cluster.py --set ${sets[${SLURM_ARRAY_TASK_ID}-1]}
