#!/bin/bash
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun -N1 -n1 -w $HEAD ray start --head --port=6379 --block &
sleep 20
srun -N1 -n1 --exclude=$HEAD ray start --address $HEAD:6379 --block &
sleep 10
python -u tune_ppo.py --workers 30
