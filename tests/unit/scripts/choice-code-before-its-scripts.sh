#!/bin/bash
#SBATCH -c 8
python2.7 build_bilayer.py -l DPPC:10
gmx_mpi grompp -f em.mdp -c start.gro -o em.tpr
gmx_mpi mdrun -deffnm em
