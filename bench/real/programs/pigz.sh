#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=pigz
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
time { pigz --processes 2 --best --keep --force text && pigz --test text.gz; } && echo "all is right"
