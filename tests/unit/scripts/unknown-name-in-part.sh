#!/bin/bash
#SBATCH --array=1-5
./bin/case_${SLURM_ARRAY_TASK_ID} < in.nml
