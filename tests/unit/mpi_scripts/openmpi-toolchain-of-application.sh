#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load GROMACS/2022.5-foss-2022b
srun gmx_mpi mdrun
