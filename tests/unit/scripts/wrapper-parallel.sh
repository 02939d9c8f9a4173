#!/bin/bash
#SBATCH -c 16
parallel -j 16 python fold.py {} ::: a.fa b.fa c.fa
