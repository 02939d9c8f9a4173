#!/bin/bash
#SBATCH -t 02:00:00
snakemake --unlock -s rna.smk
snakemake -s rna.smk -j 8 --rerun-incomplete
