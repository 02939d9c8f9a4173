#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load gcc_mvapich2
mpiexec -n 16 ./tree-code
