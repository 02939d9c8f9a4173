#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load openmpi/4.1.6
source activate cfd
mpirun python solve.py
