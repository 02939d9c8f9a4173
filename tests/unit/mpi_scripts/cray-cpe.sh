#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load cpeGNU/22.08
srun ./monsoon
