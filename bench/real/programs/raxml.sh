#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=raxml
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --time=10
rm -rf out && mkdir out
time raxmlHPC-PTHREADS -T 2 -m GTRGAMMA -p 1 -s tree.phy -n tree -w "$PWD/out"
