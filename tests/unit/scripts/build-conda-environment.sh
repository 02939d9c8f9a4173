#!/bin/bash
#SBATCH --job-name=env
#SBATCH --mem=16G
source ~/miniconda3/etc/profile.d/conda.sh
conda create -y -n graphs python=3.10
conda activate graphs
pip install networkx torch
python -c "import torch; print(torch.__version__)"
