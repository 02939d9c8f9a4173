#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export PATH=/home/ada/openmpi-4.1/bin:$PATH
mpirun -np 64 ./estuary
