#!/bin/bash
#SBATCH -N 4
srun hostname > raw.txt
hostfileconv raw.txt -1
spread_jobs --hostfile raw.txt.converted -- python gradient_walk.py -c walk.yml
