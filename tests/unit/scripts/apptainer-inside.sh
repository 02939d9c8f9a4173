#!/bin/bash
#SBATCH -n 8
IMG=/images/foam_v10.sif
srun --mpi=pmix apptainer exec --nv -B /scratch:/data --pwd /data --env FOAM=1 $IMG simpleFoam -parallel -case wing
