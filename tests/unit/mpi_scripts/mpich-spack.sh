#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
spack load mpich@4.0.2 hdf5
mpiexec -n 32 ./radiation
