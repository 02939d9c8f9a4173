#!/bin/bash
#SBATCH -n 64
. $WM_PROJECT_DIR/bin/tools/RunFunctions
blockMesh > log.mesh
decomposePar -force
srun simpleFoam -parallel
reconstructPar
