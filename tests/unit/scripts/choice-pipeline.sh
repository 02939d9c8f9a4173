#!/bin/bash
#SBATCH -c 16
fastp -i r1.fq -I r2.fq -o c1.fq -O c2.fq
bwa mem -t 16 ref.fa c1.fq c2.fq | samtools sort -@ 4 -o s.bam -
samtools index s.bam
freebayes -f ref.fa s.bam > v.vcf
