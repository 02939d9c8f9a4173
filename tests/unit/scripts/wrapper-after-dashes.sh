#!/bin/bash
#SBATCH -t 02:00:00
omniperf profile -n roof -- ./stencil7 256
