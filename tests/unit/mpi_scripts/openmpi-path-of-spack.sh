#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
export PATH=/opt/spack/opt/linux-zen3/gcc-12.3.0/openmpi-4.1.6-abcdef/bin:$PATH
mpirun ./solver
