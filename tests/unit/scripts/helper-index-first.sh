#!/bin/bash
#SBATCH --cpus-per-task=12
#SBATCH --mem=32G
module load bwa samtools bcftools
samtools faidx genome.fa
bwa index genome.fa
bcftools mpileup -f genome.fa reads.bam | bcftools call -mv -Oz -o calls.vcf.gz
tabix -p vcf calls.vcf.gz
