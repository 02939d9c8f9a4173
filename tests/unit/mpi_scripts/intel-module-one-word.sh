#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
ml load intelmpi
mpiexec -n $SLURM_NTASKS ./plasma plasma.cfg
