#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load oneapi/2022.2/mpi mkl
mpirun ./crystal < crystal.in > crystal.out
