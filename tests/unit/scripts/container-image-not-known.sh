#!/bin/bash
#SBATCH --mem=24G
IMG=$1
singularity run -B /scratch/bids:/data:ro -B /scratch/out:/out $(realpath $IMG) /data /out participant
