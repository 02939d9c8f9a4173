#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load platform_mpi/9.1
mpirun -np 32 ./crash model.k
