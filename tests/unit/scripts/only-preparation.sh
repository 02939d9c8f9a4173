#!/bin/bash
#SBATCH -J nothing
module load x
cd /tmp
echo done
