#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
bench() {
    ml purge
    ml OpenMPI/$1
    mpirun --map-by ppr:4:node ./bench
}
for v in 4.1.5 5.0.3; do bench $v; done
