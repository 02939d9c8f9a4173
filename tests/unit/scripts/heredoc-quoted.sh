#!/bin/bash
#SBATCH -n 4
cat <<'END_OF_INPUT' | tee params.yaml
command: "mpirun -np 99 ./wrong"
note: it's fine to have an odd ' quote here
END_OF_INPUT
mpiexec -n 4 ./solver params.yaml
