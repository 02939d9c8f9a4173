#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=mpi4py-fft
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun python3 schroedinger.py
