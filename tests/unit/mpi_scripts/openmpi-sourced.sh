#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
source /opt/openmpi-4.1.4/bin/mpivars.sh
mpirun ./estuary
