#!/bin/bash
#SBATCH -c 4
matlab -nodisplay -r "setPaths; startupLab; runCalibration(7); exit"
