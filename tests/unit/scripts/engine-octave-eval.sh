#!/bin/bash
#SBATCH -t 02:00:00
octave --eval 'cd run1; shallow_water(200)'
