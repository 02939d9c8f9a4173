#!/bin/bash
#SBATCH -N 1
#SBATCH -n 32
gmx pdb2gmx -f p.pdb -o p.gro -water tip3p
gmx grompp -f em.mdp -c p.gro -o em.tpr
mpirun -np 32 gmx_mpi mdrun -deffnm em
mpirun -np 1 gmx_mpi grompp -f md.mdp -c em.gro -o md.tpr
mpirun -np 32 gmx_mpi mdrun -deffnm md -cpi
