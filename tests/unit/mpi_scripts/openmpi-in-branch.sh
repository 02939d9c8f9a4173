#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
if command -v module > /dev/null; then module load openmpi/4.1.4; fi
mpirun ./cosmos
