#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring
mpirun.mpich -n 32 ./solver
