#!/bin/bash
#SBATCH -t 02:00:00
apptainer run -B /data qsmxt.sif /data/in /data/out
