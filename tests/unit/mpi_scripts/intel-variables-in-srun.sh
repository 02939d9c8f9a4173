#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export I_MPI_PMI_LIBRARY=/usr/lib64/libpmi2.so
srun --mpi=pmi2 ./quake model.bin
