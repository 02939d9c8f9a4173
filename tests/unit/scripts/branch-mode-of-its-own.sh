#!/bin/bash
#SBATCH --job-name=heat
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
MODE="solve"      # mesh | solve | plot
module purge
module load python/3.11 openmpi/4.1
if [ "$MODE" = "mesh" ]; then
    python make_mesh.py --size 200
elif [ "$MODE" = "solve" ]; then
    mpirun -np 8 python solve_heat.py --steps 5000
else
    python plot_heat.py
fi
