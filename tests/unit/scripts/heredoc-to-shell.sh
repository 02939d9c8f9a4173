#!/bin/bash
#SBATCH -N 2
bash -l <<'EOS'
module load openmpi/5.0
cd "$SLURM_SUBMIT_DIR"
mpirun -np 8 ./relax --tol 1e-6
EOS
