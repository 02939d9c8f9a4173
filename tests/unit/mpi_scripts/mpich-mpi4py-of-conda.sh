#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
eval "$(micromamba shell hook --shell bash)"
micromamba activate cfd
mpiexec.hydra -n 16 -genv MPIR_CVAR_ENABLE_GPU 0 python solve.py
