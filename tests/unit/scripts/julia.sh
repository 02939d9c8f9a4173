#!/bin/bash
module load julia/1.10
srun -n 4 julia --project=. -t 8 -O 3 sim/run.jl --n 100 out.jld2
