#!/bin/bash
#SBATCH -c 2
run=${SLURM_ARRAY_TASK_ID}
cat <<EOF | matlab -nodisplay
addpath('lib')
drift_of_eddies('north', $run)
EOF
