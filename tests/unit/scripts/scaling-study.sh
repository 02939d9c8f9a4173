#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=16
for cores in 2 8 16; do
    for ranks in $(seq 1 $((cores))); do
        threads=$((cores / ranks))
        if [ $((ranks * threads)) -eq $cores ]; then
            mpirun -np $ranks --bind-to none ./heat2d --threads $threads
        fi
    done
done
