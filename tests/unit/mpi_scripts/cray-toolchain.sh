#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
module load daint-gpu
module load GROMACS/2021.5-CrayGNU-21.09
srun gmx_mpi mdrun -s topol.tpr
