#!/bin/bash
#SBATCH -N 8
#SBATCH --ntasks-per-node=8
srun slurm2env ./epoch.sh --config big.yaml
