#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mpi/mpich-x86_64
mpirun -np 8 ./percolation 2000
