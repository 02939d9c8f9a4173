#!/bin/bash
#SBATCH -c 4
matlab -nodisplay -r "addpath('lib'); cfg = ini2struct('orbits.ini'); fit_orbits(cfg, 12); exit"
