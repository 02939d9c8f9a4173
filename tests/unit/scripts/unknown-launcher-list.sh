#!/bin/bash
#SBATCH -N 2
#SBATCH -n 56
module load launcher
export LAUNCHER_JOB_FILE=cmds.txt
$LAUNCHER_DIR/paramrun
