#!/bin/bash
#SBATCH -n 1
./serial_fit
