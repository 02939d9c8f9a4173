#!/bin/bash
#SBATCH -N 2-4
srun ./elastic
