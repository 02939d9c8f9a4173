#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load intel/2023a
MPI_CMD="mpirun -bootstrap slurm -n"
time numactl --interleave=all $MPI_CMD 32 ./solver
