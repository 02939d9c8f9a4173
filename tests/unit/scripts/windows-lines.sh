#!/bin/bash
#SBATCH -n 2
cat > f <<EOF
mpirun ./no
EOF
mpirun -np 2 \
  ./dos -a 1
