#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
bash <<'END'
module load mvapich2/2.3.7
srun ./spectral
END
