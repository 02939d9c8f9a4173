#!/bin/bash
#SBATCH -J solve_fine_mesh
#SBATCH -N 4 --ntasks-per-node=1
#SBATCH -t 10
#SBATCH -o /home/bob/results/mesh-%j.out
APP=/srv/apps/solver
mpirun $APP/bin/solver --size 33000 --seed 7 --tolerance 1e-9
