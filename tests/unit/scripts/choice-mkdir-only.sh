#!/bin/bash
#SBATCH -t 02:00:00
mkdir -p /scratch/$USER/out
cd /scratch/$USER/out
ls -l
