#!/bin/bash
#SBATCH --mem=64G
python csv_to_parquet.py raw.csv
python train_tree.py --depth 12
python evaluate_tree.py
