#!/bin/bash
#SBATCH --gres=gpu:1
/scratch/ada/paint.ext3:ro /scratch/images/cuda.sif
singularity exec --nv --overlay /scratch/ada/paint.ext3:ro /scratch/images/cuda.sif bash -c "source /ext3/env.sh; python paint.py"
