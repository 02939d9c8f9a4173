#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
for v in 4.1.6; do
    module load openmpi/$v
    mpirun ./stencil
done
