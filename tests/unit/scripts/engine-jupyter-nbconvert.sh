#!/bin/bash
#SBATCH -t 02:00:00
jupyter nbconvert --to notebook --execute --inplace figs/retrieval.ipynb
