#!/bin/bash
#SBATCH -N 2
#SBATCH -n 80
module load cctbx
srun -n 80 -c 2 libtbx.python refine.py run=12
