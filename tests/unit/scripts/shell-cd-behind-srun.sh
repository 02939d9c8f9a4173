#!/bin/bash
#SBATCH -n 5
srun -n1 cd case1 && mpirun -n 4 lmp -in in.melt
