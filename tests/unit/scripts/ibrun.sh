#!/bin/bash
#SBATCH -J wrf -N 4 -n 224 -p skx
module load intel/24.0 impi/21.11
export OMP_NUM_THREADS=1
ibrun tacc_affinity ./wrf.exe
