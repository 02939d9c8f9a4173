#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
# module load impi
# export I_MPI_DEBUG=5
srun ./lbm   # was: mpirun -ppn 16
