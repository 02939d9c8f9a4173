#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export MV2_USE_CUDA=1
export MV2_CPU_BINDING_POLICY=scatter
mpirun -n 8 ./osu_like
