#!/bin/bash
#SBATCH --gres=gpu:2
DIR=$HOME/seg
$DIR/sys-info.sh
python -m torch.utils.collect_env
python $DIR/train_unet.py --data $DIR/data --fold 0
