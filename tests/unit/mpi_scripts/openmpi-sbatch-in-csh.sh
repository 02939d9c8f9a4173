#!/bin/csh
#SBATCH -N 2
module load openmpi/4.1.6
set np = $SLURM_NTASKS
mpirun -np $np ./solver
