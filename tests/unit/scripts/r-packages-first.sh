#!/bin/bash
Rscript -e 'renv::restore()'
Rscript fit.R 4
