#!/bin/bash
#SBATCH -n 8
cmd="mpirun -np 8 ./spins --beta 0.44"
eval "$cmd"
