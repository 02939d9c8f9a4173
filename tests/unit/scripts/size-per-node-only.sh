#!/bin/bash
#SBATCH --ntasks-per-node=20
mpirun ./mc2
