#!/bin/bash
#SBATCH --gres=gpu:1
setcuda 11.7
q $SLURM_SUBMIT_DIR
/opt/intel/bin/ifortvars.sh intel64
python adapt_domain.py --net small
