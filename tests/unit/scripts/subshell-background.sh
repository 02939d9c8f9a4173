#!/bin/bash
#SBATCH -N 2 -n 2
(
  cd left
  srun -N1 -n1 ./worker --side left
) > left.log 2>&1 &
(cd right; srun -N1 -n1 ./worker --side right) &
wait
