#!/bin/bash
#SBATCH -n 32
srun hostname -s > hosts
julia --machine-file ./hosts --project=. decompose.jl 4096
