#!/bin/bash
#SBATCH -n 4
for re in 100 200 400; do
  mkdir -p re$re
  for dt in 0.1 0.01
  do
    mpirun -np 4 ./cavity -Re $re -dt $dt > re$re/log.$dt
  done
done
