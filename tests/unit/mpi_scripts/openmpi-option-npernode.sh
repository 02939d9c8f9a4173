#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpiexec -npernode 16 ./ions
