#!/bin/bash
#SBATCH -c 16
BAM=sample7.bam
apptainer run --nv caller-1.4.sif /opt/caller/bin/call_variants --reads=$BAM --shards=16
