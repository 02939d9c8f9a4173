#!/bin/bash
#SBATCH --nodes=3
rm -f apps.conf
echo "-np 48 ./ice.x" >> apps.conf
echo "-np 24 ./land.x" >> apps.conf
mpiexec -configfile apps.conf
