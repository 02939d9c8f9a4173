#!/bin/bash
#SBATCH -n 12
srun true
srun echo ready
srun pwd
srun -n 12 ./coastal input.txt
