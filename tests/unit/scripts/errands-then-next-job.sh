#!/bin/bash
#SBATCH -J chain
cp restart.0 input/restart
sed -i "s/^step=.*/step=2/" input/run.cfg
sbatch step2.sh
