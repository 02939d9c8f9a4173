#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
ml foss/2023a
ml swap foss/2023a intel/2023a
srun ./wave
