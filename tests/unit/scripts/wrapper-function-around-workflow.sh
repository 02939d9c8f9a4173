#!/bin/bash
#SBATCH -t 3-00:00:00
source ./functions.sh
with_stats nextflow run workflows/rna/main.nf -profile cluster -resume
