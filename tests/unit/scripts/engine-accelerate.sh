#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
accelerate launch --multi_gpu --num_processes 4 --config_file acc.yaml finetune_t5.py --epochs 3
