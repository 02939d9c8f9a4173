#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel/2021.4 openmpi/5.0.3
export I_MPI_PIN=0
mpirun ./wave
