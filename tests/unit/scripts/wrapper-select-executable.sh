#!/bin/bash
#SBATCH -N 1
#SBATCH -n 3
srun --cpu-bind=map_cpu:1,9,17 ./select_gpu ./bin/plasma -c run.toml
