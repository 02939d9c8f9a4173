#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun --map-by ppr:8:socket:PE=2 --bind-to core ./membrane
