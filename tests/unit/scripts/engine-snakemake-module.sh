#!/bin/bash
#SBATCH -t 02:00:00
python -m snakemake --snakefile=/data/flows/Snakefile_qc --cores 4
