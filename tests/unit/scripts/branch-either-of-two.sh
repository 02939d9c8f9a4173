#!/bin/bash
#SBATCH -n 16
GRID=coarse
MODE=run
if [[ $GRID == fine ]] || [[ $MODE == test ]]; then
    srun ./tide_fine
elif [ "$GRID" = coarse -a "$MODE" = run ]; then
    srun ./tide_coarse
fi
