#!/bin/bash
#SBATCH -J params -n 2
exe=$1; shift
srun "$exe" --input "$1" "${@:2}"
