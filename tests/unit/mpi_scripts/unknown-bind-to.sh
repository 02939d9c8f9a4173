#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun -bind-to core -map-by socket -n 64 ./plume
