#!/bin/bash
#SBATCH -t 02:00:00
srun --pty bash
