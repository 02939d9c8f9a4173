#!/bin/bash
#SBATCH -n 24
jutil env activate -p proj
uenv start prgenv
module load netcdf
setup_env
srun ./landsurf nml
