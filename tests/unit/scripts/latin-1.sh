#!/bin/bash
#SBATCH -J café
# démarrage
srun ./calcul --titre 'été'
