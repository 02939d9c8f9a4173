#!/bin/bash
#SBATCH --mem=4G
#SBATCH -p short -A phys
./serial_scan
