#!/bin/bash
#SBATCH -c 4
matlab -batch "orbits = fitOrbits(12); save('orbits.mat', 'orbits')"
