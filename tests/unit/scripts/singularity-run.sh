#!/bin/bash
singularity pull tools.sif docker://ubuntu:22.04
srun -n 1 singularity run --cleanenv tools.sif --fast cells.h5
