#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=h5py-parallel
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun python3 write.py
