#!/bin/bash
#SBATCH -t 02:00:00
python download_tiles.py --year 2020
