#!/bin/bash -l
#SBATCH --job-name=ocean-spinup
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=48
#SBATCH --partition=standard
#SBATCH --account=climate17
#SBATCH --time=12:00:00

module purge
module load gcc/12.2 openmpi/4.1.4 netcdf-fortran

srun --cpu-bind=cores \
     --distribution=block:cyclic \
     ./ocean.exe \
       --namelist=namelist.ocean \
       --restart restart_0042.nc \
       --verbose
