#!/bin/bash
#SBATCH --ntasks=128
ARGS=(
  --mesh "fine mesh.msh"   # the user's own mesh
  --order 4
)
ARGS+=(--check)
LAUNCH=(srun --mpi=pmix -n 128)
"${LAUNCH[@]}" ./fem "${ARGS[@]}"
