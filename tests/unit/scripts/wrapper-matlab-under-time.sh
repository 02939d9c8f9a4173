#!/bin/bash
#SBATCH -t 02:00:00
/usr/bin/time -v matlab -batch optimise_wing
