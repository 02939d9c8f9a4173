#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
. /opt/intel/oneapi/setvars.sh --force intel64
srun ./solver
