#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
ml gcc/8 mvapich2-gdr/2.3.6
MV2_USE_CUDA=1 mpirun -np 8 ./halo
