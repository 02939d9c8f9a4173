#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel-para/2022a
srun ./brain --cells 1e6
