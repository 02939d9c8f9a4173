#!/bin/bash
#SBATCH -t 02:00:00
matlab -nodisplay <<CODE
clear all
rng(7)
fit_spikes('mouse12')
CODE
