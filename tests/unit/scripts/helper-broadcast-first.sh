#!/bin/bash
#SBATCH -N 64
srun --ntasks-per-node=1 ./bcast.sh /tmp/app
srun --ntasks-per-node=1 /tmp/app/run.sh input.yaml
