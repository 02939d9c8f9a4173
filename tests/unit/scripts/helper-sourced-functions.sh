#!/bin/bash
#SBATCH -n 40
. /project/lib/jobtools.sh
load_compilers
add_library_paths
srun ./quench.x
