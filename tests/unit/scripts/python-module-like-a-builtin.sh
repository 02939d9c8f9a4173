#!/bin/bash
#SBATCH --array=0-3
source venv/bin/activate
python3 -m ml train --arch resnet
