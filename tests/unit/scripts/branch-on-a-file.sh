#!/bin/bash
#SBATCH --gres=gpu:1
#SBATCH --time=24:00:00
source ~/envs/net/bin/activate
if [ -f last.ckpt ]; then
    python restart.py --from last.ckpt
else
    python train_net.py --epochs 90
fi
