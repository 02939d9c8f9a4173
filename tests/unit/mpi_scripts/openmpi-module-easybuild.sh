#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
ml OpenMPI/4.1.4-GCC-12.2.0
srun ./ocean
