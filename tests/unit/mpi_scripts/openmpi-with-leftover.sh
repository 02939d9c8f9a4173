#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load openmpi/4.1.4
export I_MPI_FABRICS=shm:ofi   # from the old script
mpirun ./glacier
