#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
/opt/intel/compilers_and_libraries/linux/mpi/intel64/bin/mpirun -n 8 ./heat 512
