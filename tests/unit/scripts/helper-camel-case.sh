#!/bin/bash
#SBATCH --ntasks=1
python createInput.py --reynolds 400
./solveFlow flow.in
python plotFields.py
