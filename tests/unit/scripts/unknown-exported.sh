#!/bin/bash
#SBATCH -n 48
mpirun -np $SLURM_NTASKS $CODE_EXE -i $INPUT
