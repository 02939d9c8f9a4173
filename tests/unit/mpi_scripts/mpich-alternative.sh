#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load mpi/mpich-x86_64
mpiexec -n 8 ./solver
