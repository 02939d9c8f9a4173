#!/bin/bash
#SBATCH -t 02:00:00
FUNC=$1
matlab -batch "$FUNC"
