#!/bin/bash
#SBATCH -N 4
#SBATCH -n 128
WRAPPER=/opt/soft/mpiauto/mpiauto
set_names --file=fort.4
time $WRAPPER -np 128 -nnp 32 -- ./CLIMATE
