#!/bin/bash
#SBATCH --cpus-per-task=8
SCRIPT=kmeans.py
if [ -n "$1" ]; then
    SCRIPT=$1
fi
python $SCRIPT --clusters 12
