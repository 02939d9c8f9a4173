#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
torchrun --nproc_per_node=8 $SCRIPT --lr 3e-4
