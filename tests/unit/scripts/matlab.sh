#!/bin/bash
module load matlab/R2023b
matlab -nodisplay -batch "run('sweep.m')"
