#!/bin/bash
#SBATCH -t 02:00:00
module load R/4.2.1
R CMD BATCH --no-save '--args 12' power_sim.R out_$SLURM_JOB_ID.Rout
