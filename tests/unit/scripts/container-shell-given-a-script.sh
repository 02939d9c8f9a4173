#!/bin/bash
#SBATCH --gres=gpu:1
singularity shell --nv --bind /data reef.sif classify.sh 7 fine
