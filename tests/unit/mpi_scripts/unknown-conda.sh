#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
source activate sim
mpirun -np 64 python model.py
