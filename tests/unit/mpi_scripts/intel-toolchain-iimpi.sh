#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
ml iimpi/2022a HDF5/1.12.2-iimpi-2022a
srun ./seismic shot_01.h5
