#!/bin/bash
#SBATCH -N 2
#SBATCH -n 128
ln -sf /data/wps/met_em* .
mpirun ./real.exe
mpirun ./wrf.exe
