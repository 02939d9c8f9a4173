#!/bin/bash
#SBATCH --gres=gpu:4
#SBATCH -n 4
nvidia-smi --query-gpu=utilization.gpu --format=csv -l 5 > gpu.csv &
srun python ddp_resnet.py
