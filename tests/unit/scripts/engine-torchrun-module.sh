#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
torchrun --standalone --nproc_per_node gpu -m diffuser.train --config base.yaml
