#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=gromacs
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun gmx_mpi mdrun -ntomp 1 -deffnm water -noconfout -nsteps 400
