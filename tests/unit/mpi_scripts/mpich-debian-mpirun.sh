#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun.mpich -np 16 ./sandpile
