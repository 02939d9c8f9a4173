#!/bin/bash
mpirun --prtemca plm slurm --runtime-options report-state --output tag --np 12 --display map ./x5 -n 3
