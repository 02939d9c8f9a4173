#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
eval $(spack load --sh mvapich2@2.3.7)
srun ./lattice
