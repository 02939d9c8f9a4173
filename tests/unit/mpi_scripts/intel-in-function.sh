#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
setup() {
  module purge
  module load impi/2021.5
}
setup
run() { mpirun -np "$1" ./glacier; }
run 64
