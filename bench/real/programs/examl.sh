#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=examl
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --time=10
rm -f ExaML_*
time mpirun /usr/lib/examl/bin/examl-sse3 -s tree.binary -t trees -m GAMMA -f e -n run
