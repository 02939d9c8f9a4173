#!/bin/bash
#SBATCH --job-name=wordcount
#SBATCH --nodes=1
#SBATCH --time=5
tr -cs 'A-Za-z' '\n' < /usr/share/common-licenses/GPL-3 | sort | uniq -c | sort -rn | head -n 3
echo "-- environment"
env | sort
