#!/bin/bash
#SBATCH -t 02:00:00
module load gcc/12
make clean
make -j 16 all
