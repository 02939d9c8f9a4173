#!/bin/bash
#SBATCH -n 16
srun dask-worker --nthreads 2 --scheduler-file /scratch/s.json
