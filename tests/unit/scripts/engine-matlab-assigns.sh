#!/bin/bash
#SBATCH -t 02:00:00
matlab -nodisplay -r "workers=16; seed=4; anneal(workers, seed); quit;"
