#!/bin/bash
#SBATCH --account=eco
#SBATCH -n 8
CODE=<path-to-codes>/bin/wavesolve
srun -n 8 $CODE -in pond.in
