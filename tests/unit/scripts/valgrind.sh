#!/bin/bash
mpirun -np 2 valgrind --tool=memcheck --log-file=vg.%p ./leaky --steps 3
