#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load hpcx/2.13
mpirun ./polymer
