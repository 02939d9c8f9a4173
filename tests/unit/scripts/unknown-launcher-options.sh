#!/bin/bash
#SBATCH -n 4
mpirun $ARGS ./app --x 1
