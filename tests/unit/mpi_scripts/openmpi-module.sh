#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load gcc/12.2 openmpi/4.1.4
mpirun ./lattice
