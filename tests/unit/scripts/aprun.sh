#!/bin/bash
aprun -n64 -N 16 -d 2 -cc depth -e OMP_NUM_THREADS=2 ./chem.x < in > out
