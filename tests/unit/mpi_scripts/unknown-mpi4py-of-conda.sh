#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
source ~/miniconda3/etc/profile.d/conda.sh
conda activate cfd
mpiexec -n 16 python -m mpi4py solve.py
