#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
/usr/lib64/openmpi/bin/mpirun -np 64 ./heat
