#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
ml --force purge
ml load foss/2023a
srun ./wave
