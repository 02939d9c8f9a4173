#!/bin/bash
#SBATCH -t 02:00:00
srun echo hello
echo done
cd /tmp
mkdir -p out
