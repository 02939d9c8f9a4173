#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load openmpi/4.1.6
mpirun -np 16 apptainer exec --bind /scratch cfd.sif ./solver
