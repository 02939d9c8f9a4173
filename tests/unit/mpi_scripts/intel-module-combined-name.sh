#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel18_impi
mpirun -n 32 ./tides 2019
