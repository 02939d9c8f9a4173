#!/bin/bash
#SBATCH -t 02:00:00
NSTEPS = 400
OUT = run1
srun ./lattice $NSTEPS
