#!/bin/bash
#SBATCH -w node[01-04]
./bench_net
