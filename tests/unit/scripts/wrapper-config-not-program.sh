#!/bin/bash
#SBATCH --gres=gpu:4
bash tools/dist_run.sh configs/yolo_s.py 4
