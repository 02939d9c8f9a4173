#!/bin/bash
#SBATCH -N 4
#SBATCH -n 192
remora ibrun ./mantle3d par.in
