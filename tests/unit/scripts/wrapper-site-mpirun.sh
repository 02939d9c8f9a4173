#!/bin/bash
#SBATCH -n 4
site-mpirun --np 4 ./ocean_model namelist
