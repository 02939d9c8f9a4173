#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
export I_MPI_DEBUG=5
mpiexec.hydra -n 64 -ppn 16 ./detector events.root
