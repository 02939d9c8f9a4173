#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load gcc-openmpi
mpirun ./tides
