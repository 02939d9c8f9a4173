#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
export I_MPI_HYDRA_BOOTSTRAP=slurm
mpiexec.hydra -n $SLURM_NTASKS ./solver
