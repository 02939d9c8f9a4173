#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
case $SLURM_CLUSTER_NAME in
  big) module load openmpi/4.1.6 ;;
  small) module load openmpi/5.0.3 ;;
esac
srun ./solver
