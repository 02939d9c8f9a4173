#!/bin/bash
mpirun -np 4 ./sort keys.bin
mpirun -np 4 ./verify
