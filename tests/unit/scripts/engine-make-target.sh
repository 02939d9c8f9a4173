#!/bin/bash
#SBATCH -t 02:00:00
module load gcc
make -j 8
make sweep N=200
