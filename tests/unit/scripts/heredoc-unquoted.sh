#!/bin/bash
#SBATCH -J deck
#SBATCH -n 16
# write the input deck first; it mentions mpirun, which is not what runs
cat > run.in <<EOF
title  "mpirun ./not-this"
srun ./nor-this
steps  ${STEPS:-1000}
EOF
mpirun -np 16 ./md < run.in > run.out
