#!/bin/bash
#SBATCH -n 1
samtools view -b -q 30 lane1.bam -o lane1.q30.bam
