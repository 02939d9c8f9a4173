#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load openmpi intel
module unload openmpi
module load intelmpi/2018
srun ./drops
