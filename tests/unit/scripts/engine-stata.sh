#!/bin/bash
#SBATCH -t 02:00:00
module load stata
stata-mp -b do panel_fe.do
