#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
ml gompi/2023b
mpirun ./drops
