#!/bin/bash
#SBATCH --gres=gpu:1
python gpu.py
python reef.py --quick
python train.py --epochs 40
