#!/bin/bash
N=1
NODES=2
CASE=none
(( N = NODES * 8 ))
let NODES+=1
while read -r CASE SEED; do
  srun -n $N -N $NODES ./sweep --case "$CASE" --seed "$SEED" --twice $(( N * 2 ))
done < cases.txt
