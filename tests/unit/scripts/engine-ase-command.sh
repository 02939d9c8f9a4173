#!/bin/bash
#SBATCH -N 1
#SBATCH -n 32
module load vasp/6.4
export ASE_VASP_COMMAND="srun -n 32 vasp_gam"
export VASP_PP_PATH=$HOME/potcars
python relax_slab.py
