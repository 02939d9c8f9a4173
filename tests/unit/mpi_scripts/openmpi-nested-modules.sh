#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load StdEnv/2023 gcc/12.3 openmpi/4.1.6 hdf5-mpi/1.14.2
srun ./solver
