#!/bin/bash
#SBATCH --gres=gpu:1
orion hunt -n reef --config orion.yaml ./tune_me.sh --lr~'loguniform(1e-5, 1e-2)'
