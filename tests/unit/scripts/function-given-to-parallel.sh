#!/bin/bash
#SBATCH -c 8
one_tree() {
    python grow_tree.py --seed "$1" --depth 9
}
export -f one_tree
parallel -j 8 --delay 2 one_tree {} ::: 1 2 3 4
