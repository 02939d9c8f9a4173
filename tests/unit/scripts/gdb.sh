#!/bin/bash
srun -n 1 gdb -batch -ex run -ex bt --args ./crashy --seed 7
