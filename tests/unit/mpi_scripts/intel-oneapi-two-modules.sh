#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load intel-oneapi-compilers/2023.1.0 intel-oneapi-mpi/2021.9.0
srun ./solver
