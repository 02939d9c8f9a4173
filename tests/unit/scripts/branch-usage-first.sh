#!/bin/bash
#SBATCH --mem=8G
if [ $# -lt 1 ]; then
  echo "usage: sbatch $0 TABLE"
  exit 1
fi
module load r/4.3
Rscript fit_spectra.R "$1"
