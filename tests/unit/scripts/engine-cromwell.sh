#!/bin/bash
#SBATCH --mem=16G
java -Xmx12g -Dconfig.file=site.conf -jar ~/bin/cromwell-85.jar run align_reads.wdl -i reads.json
