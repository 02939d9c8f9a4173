#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun -genv I_MPI_FABRICS shm:dapl -genv OMP_NUM_THREADS 2 -n 32 -ppn 8 ./ions
