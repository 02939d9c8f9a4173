#!/bin/bash
#SBATCH --array=0-7
srun --unbuffered /opt/conda/bin/python -u -m submitit.core._submit /home/ada/logs/%j
