#!/bin/bash
if [[ $(hostname) == login* ]]; then module load debug; else module load intel/2023 impi; fi
module swap intel intel/2024
mpiexec.hydra -bootstrap slurm -ppn 24 -n 96 ./wave3d
