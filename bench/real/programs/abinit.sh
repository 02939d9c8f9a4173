#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=abinit
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
rm -f silicon.abo* silicono_*
time mpirun abinit silicon.abi
