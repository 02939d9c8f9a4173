#!/usr/bin/env python3
#SBATCH -c 2
import os
print(os.environ['SLURM_JOB_ID'])
