#!/bin/bash
#SBATCH --array=1-20
apptainer run --cleanenv -B /data/bids:/data -B /data/derived:/out mriprep.sif /data /out participant
