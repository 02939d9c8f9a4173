#!/bin/bash
cd build && make -j 8 && cd ../run && srun -n 2 ../build/app in.yaml || exit 1
