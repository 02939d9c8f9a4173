#!/bin/bash
#SBATCH --gres=gpu:2
conda activate ml
export PYTHONPATH=src
python3.11 -u -X faulthandler train.py --lr 1e-3 --data=/data/imagenet --amp
