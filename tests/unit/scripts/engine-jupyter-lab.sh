#!/bin/bash
#SBATCH -t 02:00:00
port=8877
jupyter lab --no-browser --ip=$(hostname) --port=$port
