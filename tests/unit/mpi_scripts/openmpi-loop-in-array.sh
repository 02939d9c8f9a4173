#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
versions=(4.1.6 5.0.3)
for v in "${versions[@]}"; do
    module load openmpi/"$v"
    mpirun -np 16 ./ring
    module rm openmpi/"$v"
done
