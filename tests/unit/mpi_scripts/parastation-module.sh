#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load GCC ParaStationMPI
srun ./cloud-model
