#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load gmpich/2016a
mpirun -np 32 ./sediment
