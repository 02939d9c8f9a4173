#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel-compilers intel-mpi/2019.8
srun ./ocean --input ocean.nml
