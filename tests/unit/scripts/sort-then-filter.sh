#!/bin/bash
#SBATCH -n 1
picard SortVcf -I cohort.vcf -O sorted.vcf
gatk IndexFeatureFile -I sorted.vcf
gatk VariantFiltration -R genome.fa -V sorted.vcf -O kept.vcf
