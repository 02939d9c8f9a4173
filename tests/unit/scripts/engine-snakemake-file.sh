#!/bin/bash
#SBATCH -c 16
conda activate smk
snakemake -s flows/assembly.smk --cores 16 --use-conda
