#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load openmpi/4.1.4
mpirun apptainer exec grains.sif /opt/grains
