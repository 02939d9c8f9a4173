#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=lammps
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun lmp -in melt.in -log none
