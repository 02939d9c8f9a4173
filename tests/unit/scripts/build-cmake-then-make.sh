#!/bin/bash
#SBATCH --partition=compile
#SBATCH --cpus-per-task=16
module load gcc/12 cmake/3.26 hdf5
git clone --depth 1 https://example.org/shallow.git
cd shallow && mkdir -p build && cd build
cmake .. -DCMAKE_BUILD_TYPE=Release
make -j 16
make install
