#!/bin/bash
#SBATCH -c 16
toil clean ./store
toil-wdl-runner --jobStore ./store --maxCores 16 polish.wdl polish.json
toil stats ./store
