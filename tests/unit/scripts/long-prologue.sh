#!/bin/bash -l
#
# Site template 2024-03; do not edit above the line
#
#SBATCH --job-name=titan_%j
#SBATCH --mail-type=END,FAIL
#SBATCH --output=/scratch/%u/%x.out
#SBATCH --nodes=16-16 --exclusive
#----------------------------------------------------------
ulimit -s unlimited
export OMP_PLACES=cores OMP_PROC_BIND=close
[[ -d $SCRATCH ]] || { echo "no scratch"; exit 2; }
trap 'rm -rf "$TMP"' EXIT
TMP=$(mktemp -d)
sbcast ./titan "$TMP/titan"
srun --ntasks-per-node=8 "$TMP"/titan @params.txt
