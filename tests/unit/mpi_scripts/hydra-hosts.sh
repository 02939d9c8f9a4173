#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpiexec -hosts $(scontrol show hostnames | paste -sd,) -perhost 4 ./tokamak
