#!/bin/bash
#SBATCH --gres=gpu:1
python prepare_data.py
python unet.py --epochs 50
python evaluate.py --ckpt last.pt
