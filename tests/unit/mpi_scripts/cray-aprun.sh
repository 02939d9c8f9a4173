#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
aprun -n 128 -N 32 ./dynamo
