#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load impi/2021.9
module swap impi openmpi/4.1.4
mpirun ./galaxy
