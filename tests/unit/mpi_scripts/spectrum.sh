#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load spectrum-mpi/10.4
jsrun -n 8 -a 4 ./fission
