#!/bin/bash
#SBATCH -t 02:00:00
mkdir -p build && cd build
cmake .. -DCMAKE_BUILD_TYPE=Release
make -j 8
cd ..
./build/lbm2d --n 1024
