#!/bin/bash
#SBATCH -t 02:00:00
singularity exec img.sif bash -c 'source /opt/env.sh; python -m recon.pipeline -s 4'
