#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8
( module swap PrgEnv-cray PrgEnv-gnu; module load cray-mpich/8.1.29; srun ./ocean )
