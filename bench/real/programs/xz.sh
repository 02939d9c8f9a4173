#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=xz
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
time { xz --threads=2 -2 --keep --force text && xz --test text.xz; } && echo "all is right"
