#!/bin/bash
mpirun -np 4 ${MPI_OPTS} $EXE -in run.in
