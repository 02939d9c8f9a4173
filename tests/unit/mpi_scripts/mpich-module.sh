#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mpich/4.1
mpiexec -n 64 ./bubbles
