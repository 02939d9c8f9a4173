#!/bin/bash
#SBATCH -c 8
prefetch SRR0000001
fastq-dump --split-files SRR0000001
fastqc SRR0000001_1.fastq
STAR --runThreadN 8 --genomeDir idx --readFilesIn SRR0000001_1.fastq SRR0000001_2.fastq
