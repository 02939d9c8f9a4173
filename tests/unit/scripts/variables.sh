#!/bin/bash
#SBATCH -N4 -n64
export APPDIR=/sw/apps/lammps
VERSION=2023.08
EXE=$APPDIR/$VERSION/bin/lmp
INPUT="in.lj"
NP=$SLURM_NTASKS
mpirun -np $NP $EXE -in $INPUT -var steps 500
