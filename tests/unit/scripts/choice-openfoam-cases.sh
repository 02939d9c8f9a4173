#!/bin/bash
#SBATCH -n 64
blockMesh > log.mesh
decomposePar -force
mpirun -np 64 pimpleFoam -parallel
reconstructPar
