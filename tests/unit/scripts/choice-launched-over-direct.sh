#!/bin/bash
#SBATCH -n 16
./mkmesh 40
mpiexec -n 16 ./navier mesh.bin
./plot_fields
