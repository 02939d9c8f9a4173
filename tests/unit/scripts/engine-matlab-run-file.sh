#!/bin/bash
#SBATCH -t 02:00:00
matlab -nodesktop -r "try, run('/home/ada/eeg/clean_all.m'); catch e, disp(e.message); end; quit"
