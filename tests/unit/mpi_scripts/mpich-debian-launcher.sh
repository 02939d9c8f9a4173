#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
mpiexec.mpich -n 16 ./automaton rule110
