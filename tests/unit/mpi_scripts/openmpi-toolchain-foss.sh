#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load foss/2023a
srun ./spectra
