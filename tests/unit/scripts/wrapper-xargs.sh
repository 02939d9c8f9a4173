#!/bin/bash
#SBATCH -t 02:00:00
ls *.tif | xargs -n 1 -P 8 ./deblur --psf psf.bin
