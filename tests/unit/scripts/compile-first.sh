#!/bin/bash
mpicc -O3 -o heat heat.c -lm && echo built
cmake --build build -j
./heat 512
