#!/bin/bash
#SBATCH --cpus-per-task=16
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
mkdir -p out
./threads_only -n 1e9 | tee out/log
