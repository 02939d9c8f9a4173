#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
wandb offline
python dqn_pong.py --seed $SLURM_ARRAY_TASK_ID
