#!/bin/bash
#SBATCH -n 2
srun $HOME/bin/app --data $WORK/data --id ${SLURM_JOB_ID}
