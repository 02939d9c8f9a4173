#!/bin/bash
#SBATCH -t 02:00:00
NF=$HOME/bin/nextflow
$NF run ${PIPE_DIR}/main_call.nf --bam $1
