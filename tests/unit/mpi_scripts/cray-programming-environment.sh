#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load PrgEnv-gnu cray-hdf5-parallel
srun -n 256 ./plume
