#!/bin/bash
srun -n 2 perf stat -e cycles,instructions -o perf.txt -- ./kernel -n 4096
perf report
