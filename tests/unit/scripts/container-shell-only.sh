#!/bin/bash
#SBATCH --time=02:00:00
singularity shell --nv tools.sif
