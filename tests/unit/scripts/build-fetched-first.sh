#!/bin/bash
#SBATCH -t 1:00:00
wget -q https://example.org/fftlib-2.1.tar.gz
tar xzf fftlib-2.1.tar.gz
cd fftlib-2.1
./configure --prefix=$HOME/opt --enable-mpi
make && make check && make install
