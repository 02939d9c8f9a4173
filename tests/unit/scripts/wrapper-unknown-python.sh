#!/bin/bash
#SBATCH -t 02:00:00
PY=$(which python3)
$PYBIN -u tracker.py --video $1
