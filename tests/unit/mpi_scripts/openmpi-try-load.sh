#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module try-load openmpi || module load mpi/openmpi-x86_64
srun ./solver
