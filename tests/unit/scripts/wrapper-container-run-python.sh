#!/bin/bash
#SBATCH --gres=gpu:2
singularity run --nv torch.sif python eval_depth.py --ckpt a.pt
