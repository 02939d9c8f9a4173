#!/bin/bash
#SBATCH --ntasks=1
one=$(sed -n "${SLURM_ARRAY_TASK_ID}p" people.txt)
bcftools query -l cohort.vcf.gz > people.txt
bcftools view -s "$one" cohort.vcf.gz -Oz -o "$one.vcf.gz"
phaser --vcf "$one.vcf.gz" --bam "$one.bam" --out "$one"
