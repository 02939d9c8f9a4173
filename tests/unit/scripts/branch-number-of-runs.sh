#!/bin/bash
#SBATCH --ntasks=32
RUNS=12
if [[ $RUNS -gt 1 ]]; then
  for i in $(seq $RUNS); do
    srun ./ensemble.x -seed $i
  done
elif [[ $RUNS -eq 1 ]]; then
  srun ./single.x
fi
