#!/bin/bash
#SBATCH --gres=gpu:1
PROFILER="ncu -k sweep -f -o out --section-folder ../sections --section SpeedOfLight"
srun -n 1 $PROFILER ./stencil 512
