#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
source /etc/profile.d/openmpi.sh
mpirun ./estuary
