#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mvapich2/2.3.7
srun ./pulsar
