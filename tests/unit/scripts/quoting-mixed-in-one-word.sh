#!/bin/bash
DIR=/scratch/run
srun -n 1 "$DIR"/'sub dir'/app"-v2" --out="$DIR/x y"'.h5'
