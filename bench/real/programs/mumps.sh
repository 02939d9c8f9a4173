#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=mumps
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
export PYTHONPATH=/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages
time mpirun python3 helmholtz.py
