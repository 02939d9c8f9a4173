#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load cray-mpich/8.1.25
srun ./weather forecast.nml
