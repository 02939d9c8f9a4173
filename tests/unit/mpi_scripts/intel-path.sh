#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
MPIRUN=/opt/intel/oneapi/mpi/2021.9.0/bin/mpirun
$MPIRUN -np 64 ./burgers
