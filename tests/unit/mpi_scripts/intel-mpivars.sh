#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
. /apps/intel/impi/2018.4/intel64/bin/mpivars.sh
mpiexec -n 64 ./galaxy -z 10
