#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel/2020.4 openmpi/4.1.5-intel-19.1
mpirun ./reactor
