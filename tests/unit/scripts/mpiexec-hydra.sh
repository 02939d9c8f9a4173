#!/bin/bash
export I_MPI_PIN_DOMAIN=omp
mpiexec.hydra -n 40 -ppn 20 -genvlist PATH,HOME -print-rank-map -iface ib0 ./cp2k.psmp -i H2O.inp -o H2O.out
