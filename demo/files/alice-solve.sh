#!/bin/bash
#SBATCH --job-name=solve
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
mpirun /srv/apps/solver/bin/solver --size 32768 --iterations 5000
