#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=iqtree
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
time iqtree2 -s tree.phy -m GTR+G -T 2 -seed 1 -redo
