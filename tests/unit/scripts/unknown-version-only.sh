#!/bin/bash
#SBATCH --job-name=fit
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
python --version
nvcc -V
which python
python -u gan_faces.py
