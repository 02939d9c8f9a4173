#!/bin/bash
#SBATCH -t 10
mpirun -np 24 ./waves2d
