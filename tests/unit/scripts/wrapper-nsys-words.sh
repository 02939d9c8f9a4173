#!/bin/bash
#SBATCH --gres=gpu:1
nsys profile --stats true --force-overwrite true -o fold python fold.py --steps 10
