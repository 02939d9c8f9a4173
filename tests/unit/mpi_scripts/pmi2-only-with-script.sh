#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
srun --mpi pmi2 ./solver -i deck
