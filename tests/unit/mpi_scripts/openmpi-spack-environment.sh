#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
spack env activate -d .
spack load openmpi@5.0.3+pmix
srun ./lattice
