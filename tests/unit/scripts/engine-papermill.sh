#!/bin/bash
#SBATCH -t 02:00:00
papermill -p region alps snow.ipynb out/snow_alps.ipynb
