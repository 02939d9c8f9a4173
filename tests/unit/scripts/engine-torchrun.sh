#!/bin/bash
#SBATCH -N 4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 --rdzv_id=$RANDOM --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 pretrain/train_vit.py --bs 64
