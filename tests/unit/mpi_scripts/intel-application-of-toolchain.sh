#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load QuantumESPRESSO/7.3-intel-2023a
srun --mpi=pmi2 pw.x -in si.in
