#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=1
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id $SLURM_JOB_ID --rdzv-backend=c10d --rdzv_endpoint $HEAD:29500 pretrain.py --model 7b
