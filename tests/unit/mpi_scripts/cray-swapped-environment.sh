#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module swap PrgEnv-cray PrgEnv-intel
srun ./lbm --size 512
