#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
. /opt/spack/share/spack/setup-env.sh
spack load mpich@4.1.2 %gcc@12
srun --mpi=pmi2 ./lattice
