#!/bin/bash
#SBATCH -t 02:00:00
for s in 1 2 3; do
  sbatch --export=SEED=$s one.sh
done
