#!/bin/bash
#SBATCH -c 2
nextflow run -hub gitlab -r 1.4 -resume 0a1b2c3d-0000-4444-8888-0123456789ab seagrass/reads-nf -params-file p.yml
