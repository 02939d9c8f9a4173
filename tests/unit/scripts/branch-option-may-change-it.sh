#!/bin/bash
#SBATCH -n 16
GRID=coarse
while getopts "g:" option; do
  case $option in
    g) GRID=$OPTARG ;;
    *) exit 2 ;;
  esac
done
if [ "$GRID" = coarse ]; then
  mpirun ./coarse.exe
else
  mpirun ./fine.exe
fi
