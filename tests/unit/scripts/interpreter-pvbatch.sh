#!/bin/bash
#SBATCH -t 02:00:00
pvbatch --force-offscreen-rendering render_iso.py 40
