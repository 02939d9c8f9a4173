#!/bin/bash
# it's the user's "own comment
N=4 # don't
srun -n $N ./x # isn't read
