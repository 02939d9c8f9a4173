#!/bin/bash
srun -n 4 nsys profile -t cuda,mpi -o rep.%q{SLURM_PROCID} --stats=true ./lbm -g 256
