#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load intel-oneapi-compilers/2023.1 intel-oneapi-mpi/2021.9.0
srun ./fem3d mesh.msh
