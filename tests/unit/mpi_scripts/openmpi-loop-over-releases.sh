#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
#SBATCH --job-name=osu-sweep
for v in 4.1.6 5.0.3; do
    module purge
    module load gcc openmpi/$v
    mpirun ./osu_allreduce > allreduce.$v
done
