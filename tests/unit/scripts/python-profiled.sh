#!/bin/bash
srun -n 1 python -m cProfile -o prof.out -s cumtime model.py --years 10
