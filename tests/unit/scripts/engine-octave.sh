#!/bin/bash
#SBATCH -t 02:00:00
octave --no-gui reduce.m 2019
