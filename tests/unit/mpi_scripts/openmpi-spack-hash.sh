#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
spack load openmpi /abcd123
srun ./lattice
