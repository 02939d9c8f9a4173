#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
ml purge
ml intel/2023a
mpirun ./wave
