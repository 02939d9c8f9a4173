#!/bin/bash
CMD="mpirun -np 4 ./app --mode batch"
echo "Running: $CMD"
eval "$CMD"
