#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mpi/openmpi/4.1
srun ./fem3d
