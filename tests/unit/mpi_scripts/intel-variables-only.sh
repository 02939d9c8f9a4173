#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export I_MPI_FABRICS=shm:ofi I_MPI_PIN_DOMAIN=omp
export OMP_NUM_THREADS=4
mpirun -np 16 ./turbine blade.dat
