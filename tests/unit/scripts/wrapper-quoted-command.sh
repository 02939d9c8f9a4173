#!/bin/bash
#SBATCH -n 28
. ./lib.sh
run_or_stop "mpirun -np 28 python fit_halo.py -i in.h5"
