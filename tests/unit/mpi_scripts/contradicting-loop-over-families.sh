#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
for m in openmpi/4.1.6 impi/2021.9.0 mvapich2/2.3.7; do
    module purge
    module load gcc/12 $m
    srun ./halo-exchange > out.${m%%/*}
done
