#!/bin/bash
#SBATCH -n 256
srun -n 1 ./gen3d mesh.in
srun -n 256 ./euler3d run.in
srun -n 1 ./to_vtk out
