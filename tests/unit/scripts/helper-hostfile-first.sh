#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
bash tools/write_hostfile.sh
deepspeed --hostfile hosts train_big.py --config zero3.json
