#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
/usr/lib64/mpich/bin/mpiexec -n 16 ./grains
