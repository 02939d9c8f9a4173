#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
srun --mpi=pmi2 ./laser
