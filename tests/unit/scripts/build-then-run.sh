#!/bin/bash
#SBATCH -N 1
#SBATCH -n 24
module load intel impi
make clean
make -j4 cavity
srun ./cavity re=1000
