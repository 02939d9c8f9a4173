#!/bin/bash
ml purge
ml gcc/13 OpenMPI/4.1.6
ml use /apps/private
ml -gcc CUDA/12.1
source ~/venv/bin/activate
srun -n 8 ./gpu_app
