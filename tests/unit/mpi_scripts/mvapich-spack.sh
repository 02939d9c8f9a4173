#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
spack load mvapich2%gcc@12
srun --mpi=pmi2 ./auroras
