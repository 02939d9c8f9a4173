#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=numpy-blas
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
time python3 modes.py
