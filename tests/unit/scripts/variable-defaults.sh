#!/bin/bash
#SBATCH -n 8
: ${SOLVER:=./heat2d}
SIZE=${SIZE:-1024}
OUT=${OUT-"out/${SIZE}"}
srun ${SOLVER} --size ${SIZE} --out "$OUT" --home ${UNSET_ROOT:-/opt/${SIZE}/share}
