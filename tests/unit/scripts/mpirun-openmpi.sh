#!/bin/bash
#SBATCH -N 4 --ntasks-per-node=16
/opt/openmpi-4.1/bin/mpirun --mca btl ^openib -mca pml ucx -x UCX_TLS=rc,sm -x LD_LIBRARY_PATH --map-by ppr:16:node:PE=2 --bind-to core --report-bindings -np 64 ./gyro input.nml
