#!/bin/bash
#SBATCH -t 02:00:00
Rscript -e 'library(sp); summary(meuse)'
