#!/bin/bash
srun -n 16 python -m mpi4py -rc threads=False solve.py -N 2000
