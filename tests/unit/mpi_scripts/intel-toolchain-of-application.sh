#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load QuantumESPRESSO/7.0-intel-2021b
srun pw.x -in si.scf.in
