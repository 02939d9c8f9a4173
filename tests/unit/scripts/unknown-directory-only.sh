#!/bin/bash
#SBATCH -n 8
export ROOT=$(dirname $PWD)
srun ${ROOT}/build/$ARCH/heat3d -n 512
