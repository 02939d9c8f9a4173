#!/bin/csh
#SBATCH -J oldie
#SBATCH -n 12
setenv OMP_NUM_THREADS 1
set exe = ./ccsm.exe
module load mpt
mpirun -np 12 ./ccsm.exe
