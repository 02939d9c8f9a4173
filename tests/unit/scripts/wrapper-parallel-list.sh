#!/bin/bash
#SBATCH -c 12
parallel -j $SLURM_CPUS_PER_TASK < all_commands.txt
