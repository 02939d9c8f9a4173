#!/bin/bash
#SBATCH -N 1 -n 4 -J coupled
#SBATCH hetjob
#SBATCH -N 2 -n 32
srun --het-group=0 ./master -c cfg : --het-group=1 ./slaves
