#!/bin/bash
#SBATCH -n 8
dask-scheduler --scheduler-file sched.json &
srun dask-worker --scheduler-file sched.json &
sleep 15
python regrid_cmip.py sched.json
