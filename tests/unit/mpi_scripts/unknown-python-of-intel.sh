#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load python/intel/3.8.6 intel-mkl
srun python fit.py
