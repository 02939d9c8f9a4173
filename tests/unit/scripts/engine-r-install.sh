#!/bin/bash
#SBATCH -t 02:00:00
R CMD INSTALL mypkg_0.1.tar.gz
Rscript run_mypkg.R 10
