#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel/2020.4
mpirun -np 64 ./polymer
