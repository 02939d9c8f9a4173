#!/bin/bash
srun -n 2 python -c 'from mpi4py import MPI'
