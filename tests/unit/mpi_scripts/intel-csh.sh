#!/bin/csh
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
setenv I_MPI_FABRICS shm:tmi
mpirun -np 64 ./membrane
