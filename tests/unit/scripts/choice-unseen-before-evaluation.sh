#!/bin/bash
#SBATCH --mem=4G
python validate_table.py
$PIPELINE --table table.csv
