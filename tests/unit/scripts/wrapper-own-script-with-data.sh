#!/bin/bash
#SBATCH -t 02:00:00
./launch_case.sh cases/naca0012.cfg 8
