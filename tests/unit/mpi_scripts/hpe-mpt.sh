#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load mpt/2.25
mpiexec_mpt -np 64 ./rotor
