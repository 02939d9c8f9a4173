#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
if [ -e /opt/cray ]; then module load cray-mpich; else module load openmpi/4.1.6; fi
srun ./solver
