#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load nvhpc-hpcx/23.7
mpirun ./solver
