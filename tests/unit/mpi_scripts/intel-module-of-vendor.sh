#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module use /apps/intel/modulefiles
module load mpi/2021.9.0 compiler/2023.1.0
mpirun ./reactor
