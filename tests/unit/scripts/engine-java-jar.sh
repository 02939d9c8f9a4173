#!/bin/bash
#SBATCH -t 02:00:00
java -Xmx20g -jar $PICARD_HOME/picard.jar MarkDuplicates I=a.bam O=b.bam
