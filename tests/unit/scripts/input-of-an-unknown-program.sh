#!/bin/bash
#SBATCH -n 36
srun $MODEL_EXE namelist.nml
