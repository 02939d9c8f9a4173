#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load PrgEnv-intel cray-mpich-abi/8.1.28
srun ./solver
