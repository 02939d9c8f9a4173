#!/bin/bash
#SBATCH -t 02:00:00
conda activate ml
python $1 ${@:2}
