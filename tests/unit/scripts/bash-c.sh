#!/bin/bash
srun -n 8 bash -c 'export RANK=$SLURM_PROCID; exec ./agent --rank $RANK'
