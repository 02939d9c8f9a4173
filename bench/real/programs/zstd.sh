#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=zstd
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
time { zstd --quiet --threads=2 -15 --force text && zstd --quiet --test text.zst; } && echo "all is right"
