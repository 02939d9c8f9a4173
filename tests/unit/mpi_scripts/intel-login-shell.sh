#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
bash -lc "module load impi/2021.9.0; mpirun ./flow input.nml"
