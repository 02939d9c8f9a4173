#!/bin/bash
#SBATCH -n 4
srun $1 --steps 100
