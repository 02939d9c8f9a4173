#!/bin/bash
#SBATCH --gres=gpu:1
nvprof --metrics all -o p.nvvp ./sgemm_tiled 4096
