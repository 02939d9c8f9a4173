#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=dolfinx-poisson
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
time mpirun dolfinx-scaling-test --problem_type poisson --scaling_type strong --ndofs 60000 -ksp_type cg -pc_type jacobi -ksp_rtol 1e-12
