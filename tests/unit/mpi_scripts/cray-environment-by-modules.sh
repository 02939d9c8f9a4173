#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module restore PrgEnv-gnu
module load craype-x86-milan craype-network-ofi
srun --cpu-bind=cores ./ocean
