#!/bin/bash
#SBATCH -t 02:00:00
conda activate smk
snakemake --profile slurm --jobs 50
