#!/bin/bash
#SBATCH -t 02:00:00
module load parallel
parallel --jobs 8 'samtools index {}' ::: *.bam
