#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
source /opt/intel/oneapi/mpi/2021.9.0/env/vars.sh
mpirun -n 64 ./solver
