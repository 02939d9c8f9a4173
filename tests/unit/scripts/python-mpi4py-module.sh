#!/bin/bash
mpirun -n 4 python3 -m mpi4py.run -m project.main --deck a.yml
