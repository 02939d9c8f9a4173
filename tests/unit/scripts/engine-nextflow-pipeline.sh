#!/bin/bash
#SBATCH -t 02:00:00
nextflow -c site.config run nf-core/ampliseq -r 2.7.1 -profile singularity
