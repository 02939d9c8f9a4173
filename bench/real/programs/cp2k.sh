#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=cp2k
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
export OMP_NUM_THREADS=1
time mpirun cp2k.psmp -i water.inp
