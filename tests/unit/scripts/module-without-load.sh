#!/bin/bash
#SBATCH -n 1
module load Python/3.11.3
PyTorch/2.1.2-CUDA-12.1.1
python3 grid_search.py
