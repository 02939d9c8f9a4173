#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export PATH=/apps/mvapich2-2.3/bin:${PATH}
mpirun ./estuary
