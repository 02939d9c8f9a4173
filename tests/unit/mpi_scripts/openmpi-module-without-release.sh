#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load openmpi
mpirun -np 64 ./plasma
