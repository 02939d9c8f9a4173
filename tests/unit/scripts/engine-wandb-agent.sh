#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
conda activate rl
wandb login
wandb agent lab/pendulum/x3f9qz
