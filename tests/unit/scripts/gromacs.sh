#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --cpus-per-task=4
source /sw/gromacs/bin/GMXRC.bash
gmx grompp -f md.mdp -c conf.gro -o topol.tpr
mpirun gmx_mpi mdrun -ntomp ${SLURM_CPUS_PER_TASK:-4} -deffnm md -maxh 23.5
