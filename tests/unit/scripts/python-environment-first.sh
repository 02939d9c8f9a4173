#!/bin/bash
#SBATCH -J train --gres=gpu:1
python3 -m venv env
source env/bin/activate
pip install -q -r requirements.txt
python -c 'import torch; print(torch.cuda.is_available())'
mapfile -t FILES < files.txt
python train.py --epochs 3
sbatch --dependency=afterok:$SLURM_JOB_ID next.sh
