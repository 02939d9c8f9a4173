#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load gcc openmpi/4.1.4
module swap openmpi impi/2021.6
mpirun ./wave 1024
