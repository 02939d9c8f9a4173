#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun --mca btl tcp,self -np 64 ./turbine
