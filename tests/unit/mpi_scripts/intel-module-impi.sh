#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module purge
module load gcc/12.2 impi/2021.9
mpirun -np 64 ./lattice -steps 200
