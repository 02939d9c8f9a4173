#!/bin/bash
OMP_NUM_THREADS=8 KMP_AFFINITY=compact srun -c 8 ./openmp_app
