#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
module load GROMACS/2023.3-foss-2023a-CUDA-12.1.1
srun gmx_mpi mdrun -deffnm md
