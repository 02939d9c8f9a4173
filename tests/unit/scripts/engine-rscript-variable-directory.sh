#!/bin/bash
#SBATCH -t 02:00:00
ROOT=$HOME/study
Rscript "$ROOT/code/$STAGE/glm.R" --fold 3
