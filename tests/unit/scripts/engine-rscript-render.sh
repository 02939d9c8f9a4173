#!/bin/bash
#SBATCH -t 02:00:00
module load pandoc
Rscript -e "rmarkdown::render('cohort.Rmd', params = list(site = 3))"
