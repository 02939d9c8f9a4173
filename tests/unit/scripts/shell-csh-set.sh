#!/bin/tcsh
#SBATCH -n 16
set exe = /home/ada/bin/bandgap
set nproc=16
setenv OMP_NUM_THREADS 1
mpirun -np $nproc $exe < si.in
