#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
RELEASES="4.1.6 5.0.3"
for release in $RELEASES; do
    module load openmpi/${release}
    srun --mpi=pmix ./stencil
    module unload openmpi/${release}
done
