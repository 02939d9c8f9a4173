#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
bash -l -c 'module load openmpi/4.1.6 && mpirun -np 32 ./flow'
