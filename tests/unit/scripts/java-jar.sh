#!/bin/bash
java -Xmx64g -XX:+UseParallelGC -cp lib/* -jar gatk.jar HaplotypeCaller -R ref.fa -I in.bam
