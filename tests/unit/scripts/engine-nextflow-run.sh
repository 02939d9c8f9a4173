#!/bin/bash
#SBATCH -t 02:00:00
module load nextflow/23
export NXF_OPTS='-Xms1g'
nextflow run viral.nf -profile cluster --reads 'fq/*.gz' -resume
