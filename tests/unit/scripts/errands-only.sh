#!/bin/bash
#SBATCH --time=00:05:00
hostname
nvidia-smi
sleep 30
mv out.log logs/
cp -r results /archive/results
