#!/bin/bash
/usr/bin/time -v -o time.txt timeout --signal=USR1 3550 mpirun -n 8 ./opt --restart
