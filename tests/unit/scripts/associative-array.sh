#!/bin/bash
declare -A NODES=([small]=2 [large]=16)
declare -a STEPS=(10 20)
mpirun -np 4 ./model --steps ${STEPS[0]} --nodes ${NODES[large]}
