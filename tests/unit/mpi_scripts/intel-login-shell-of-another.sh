#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load openmpi/4.1.6
make -j
bash -lc "module purge; module load iimpi/2023a; mpirun ./flow"
