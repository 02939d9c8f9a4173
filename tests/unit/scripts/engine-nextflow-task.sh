#!/bin/bash
#SBATCH -J nf-ALIGN_STAR_MAP_(s3)
#SBATCH -c 8
# NEXTFLOW TASK: ALIGN:STAR_MAP (s3)
set -e
NXF_DEBUG=${NXF_DEBUG:=0}
nxf_main() {
  /bin/bash -ue .command.sh
}
nxf_main
