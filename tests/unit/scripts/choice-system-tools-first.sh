#!/bin/bash
#SBATCH -t 02:00:00
lscpu
lspci | grep -i nvidia
ulimit -s unlimited
free -g
./md_water 1000
