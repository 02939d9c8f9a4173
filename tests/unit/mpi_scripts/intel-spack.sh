#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
. /apps/spack/share/spack/setup-env.sh
spack load intel-oneapi-mpi@2021.9.0
srun ./shock tube.in
