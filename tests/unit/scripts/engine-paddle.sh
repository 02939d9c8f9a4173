#!/bin/bash
#SBATCH --gres=gpu:2
python -m paddle.distributed.launch --gpus 0,1 segment_ice.py --epochs 30
