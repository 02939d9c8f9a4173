#!/bin/bash
#SBATCH -n 8
model=<name of the model>
mpirun -np <tasks> $model deck.in
