#!/bin/bash
#SBATCH --mem=8G
RETRAIN=yes
if [ "$RETRAIN" = yes ] && [ -f weights.pt ]; then
    python retrain_net.py weights.pt
else
    python first_net.py
fi
