#!/bin/bash
#SBATCH --gres=gpu:1
tensorboard --logdir runs &
python bert_mlm.py
