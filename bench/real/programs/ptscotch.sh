#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=ptscotch
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
rm -f grid.map
time mpirun dgpart 64 grid.grf grid.map -vm
