#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
mpiexec.hydra -bootstrap slurm -n $SLURM_NTASKS ./solver
