#!/bin/bash
srun -n 4 $SRUN_FLAGS --mpi=pmix $(cat bind.txt) ./coupled a.cfg
