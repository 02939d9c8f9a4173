#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load impi/2021.9
mpirun -np 64 apptainer exec weather.sif /opt/weather/bin/model
