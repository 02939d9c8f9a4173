#!/bin/bash
#SBATCH -N 2
srun -N2 -n8 -c4 --mem-per-cpu=2G --hint=nomultithread -u -l --kill-on-bad-exit=1 --export=ALL,OMP_NUM_THREADS=4 --mpi pmi2 -- ./hybrid -t 4
