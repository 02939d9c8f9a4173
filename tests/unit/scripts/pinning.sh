#!/bin/bash
srun -n 4 numactl --interleave=all --cpunodebind 0,1 taskset -c 0-15 stdbuf -oL nice -n 10 ./stream 100000000
