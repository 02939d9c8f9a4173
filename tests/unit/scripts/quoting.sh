#!/bin/bash
#SBATCH --job-name="two words"
#SBATCH -n 4
srun "./bin/my app" --title 'It costs $5' --note "say \"hi\"" --path a\ b.dat
