#!/bin/bash
#SBATCH -t 02:00:00
R --no-save < bayes_hier.R
