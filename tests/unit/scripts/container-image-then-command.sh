#!/bin/bash
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=12
IMG=/shared/images/gromacs-2023.sif
singularity run --nv $IMG gmx mdrun -deffnm prod -nb gpu -ntomp 12
