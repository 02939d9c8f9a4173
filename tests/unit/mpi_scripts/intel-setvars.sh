#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
source /opt/intel/oneapi/setvars.sh
mpirun -np 64 ./climate
