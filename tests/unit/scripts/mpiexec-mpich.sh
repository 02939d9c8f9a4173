#!/bin/bash
mpiexec.mpich -genv OMP_NUM_THREADS 2 -env A 1 -wdir /scratch -l -n 6 ./stencil 512 512
