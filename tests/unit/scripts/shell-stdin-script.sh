#!/bin/bash
#SBATCH -t 02:00:00
bash < nightly_steps.sh
