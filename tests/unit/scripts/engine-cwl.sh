#!/bin/bash
#SBATCH -t 02:00:00
cwltool --singularity --outdir res tools/call_peaks.cwl inputs.yml
