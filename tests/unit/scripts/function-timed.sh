#!/bin/bash
#SBATCH -n 4
melt_at() { mpirun -np 4 ./melt "$1"; }
time melt_at 1200
