#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
ml impi/2021.9.0
ml -impi gompi/2023b
srun ./wave
