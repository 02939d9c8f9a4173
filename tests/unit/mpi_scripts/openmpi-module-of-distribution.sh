#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mpi/openmpi-x86_64
mpirun ./crystal
