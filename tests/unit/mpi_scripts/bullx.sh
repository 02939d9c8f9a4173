#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load bullxmpi/1.2.9
srun ./glass
