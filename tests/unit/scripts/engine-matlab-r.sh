#!/bin/bash
#SBATCH -n 1
#SBATCH -c 8
matlab -nodisplay -nosplash -r "addpath(genpath('lib')); parpool(8); invert_waves; exit"
