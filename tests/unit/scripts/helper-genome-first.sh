#!/bin/bash
#SBATCH --cpus-per-task=16
STAR --runMode genomeGenerate --genomeDir idx --genomeFastaFiles g.fa --runThreadN 16
STAR --genomeDir idx --readFilesIn a_1.fq a_2.fq --runThreadN 16
