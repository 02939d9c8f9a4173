#!/bin/bash
#SBATCH --image=docker:astro/sky:3
srun -n 32 shifter --module=mpich --volume="/a:/b" ./sky.py --nside 512
