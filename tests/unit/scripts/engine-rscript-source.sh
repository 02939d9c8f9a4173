#!/bin/bash
#SBATCH -t 02:00:00
Rscript -e "source('R/bootstrap_trees.R')"
