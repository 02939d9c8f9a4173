#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
spack load openmpi@4.1.5
mpirun ./shock
