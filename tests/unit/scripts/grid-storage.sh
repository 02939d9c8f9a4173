#!/bin/bash
#SBATCH --job-name=events
eval `scramv1 runtime -sh`
eval $(sed -n "${SLURM_ARRAY_TASK_ID}p" "$1")
gfal-copy -f events.root root://store.example.org//events
