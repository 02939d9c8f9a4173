#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load iomkl/2018b
srun ./climate
