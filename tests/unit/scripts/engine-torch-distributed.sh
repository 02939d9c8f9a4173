#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
python -m torch.distributed.launch --use_env --nproc_per_node 2 segment.py --data /scratch/img
