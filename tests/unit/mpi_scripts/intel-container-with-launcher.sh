#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load impi/2021.9.0
mpiexec.hydra -n 16 singularity exec cfd.sif ./solver
