#!/bin/bash
NPROC=$(( SLURM_NNODES * 24 ))
BIN=$(which gmx_mpi)
TODAY=`date +%F`
STAMP=$(
  # don't stop at this apostrophe
  date '+%H (%Z)'
)
mpirun -np $NPROC $BIN mdrun -deffnm "run_$TODAY" -s topol.tpr
