#!/bin/bash
case ${1:-full} in
  ( test ) N=1 ;;&
  full|long ) N=32 ;&
  *) : ;;
esac
srun -n 32 ./run_it
