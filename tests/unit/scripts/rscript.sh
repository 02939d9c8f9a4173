#!/bin/bash
Rscript -e 'renv::restore()'
Rscript --vanilla -e 'library(x)' > /dev/null
srun Rscript --no-save fit.R --chains 4
