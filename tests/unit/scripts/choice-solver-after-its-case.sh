#!/bin/bash
#SBATCH -c 8
matlab -batch "run('lake_testcase.m')"
./plume/plume -q lake.xml -o out/lake
matlab -batch "run('plotPlume.m')"
