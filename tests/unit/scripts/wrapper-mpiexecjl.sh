#!/bin/bash
#SBATCH -n 16
~/.julia/bin/mpiexecjl --project=. -n 16 julia rayleigh.jl
