#!/bin/bash
#SBATCH -c 24
#SBATCH --time=3-00:00:00
BuildDatabase -name moss moss.fasta
RepeatModeler -database moss -threads 24
