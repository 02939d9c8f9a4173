#!/bin/bash
#SBATCH -N 4
#SBATCH -n 128
#SBATCH -t 00:30:00
PROFILE=false
export OMP_NUM_THREADS=1
if $PROFILE; then
    srun ./profiled_wave.sh ./wave2d in.cfg
else
    srun ./wave2d in.cfg
fi
