#!/bin/bash
#SBATCH -t 02:00:00
srun R --vanilla --slave -f scripts/kriging.R
