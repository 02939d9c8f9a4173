#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=lammps-ewald
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun lmp -in salt.in -log none
