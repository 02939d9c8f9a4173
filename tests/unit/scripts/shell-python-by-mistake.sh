#!/bin/bash
#SBATCH -c 1
import os
args += more
snakemake -s steps.smk -j 20
