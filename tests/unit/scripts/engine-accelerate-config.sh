#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
accelerate config default
accelerate launch lora_sdxl.py --rank 8
