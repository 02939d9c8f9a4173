#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
echo "use mpiexec.hydra, or set I_MPI_DEBUG"
echo "$I_MPI_ROOT ${MV2_HOME:-none}"
srun ./dynamo
