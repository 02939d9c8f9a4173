#!/bin/bash
module load singularity/3.8
singularity --quiet exec --bind $SCRATCH mpi.sif mpirun -np 4 /opt/app/bin/run -c cfg.json
