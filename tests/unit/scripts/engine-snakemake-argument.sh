#!/bin/bash
#SBATCH -t 02:00:00
snakemake -s "$1" --cores $SLURM_CPUS_PER_TASK
