#!/bin/bash
#SBATCH -c 2
/opt/old/bin/python3.7m weave.py --close-up
