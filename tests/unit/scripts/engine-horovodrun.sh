#!/bin/bash
#SBATCH -N 1
#SBATCH -n 8
horovodrun -np 8 -H localhost:8 python speech_hvd.py --fp16
