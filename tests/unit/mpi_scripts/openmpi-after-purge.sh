#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel impi
module purge
module load gcc openmpi/4.1.4
mpirun ./burgers
