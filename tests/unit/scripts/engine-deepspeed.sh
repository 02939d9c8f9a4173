#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
deepspeed --num_gpus=8 --master_port 29501 sft/run_sft.py --deepspeed ds_z3.json
