#!/bin/bash
#SBATCH -N 1
#SBATCH --ntasks=1
srun matlab -nodisplay < soil_flux.m > soil.log
