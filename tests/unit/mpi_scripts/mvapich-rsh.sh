#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpirun_rsh -np 64 -hostfile hosts MV2_ENABLE_AFFINITY=0 ./stokes
