#!/bin/bash
#SBATCH -c 8
mrconvert dwi.nii dwi.mif
biom convert -i t.tsv -o t.biom
trackgen dwi.mif tracks.tck
