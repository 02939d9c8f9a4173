#!/bin/bash
#SBATCH -n 8
pytest tests -q
mpirun -n 8 ./march --cfl 0.5
