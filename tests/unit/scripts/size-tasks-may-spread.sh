#!/bin/bash
#SBATCH --ntasks=40
mpirun ./mc
