#!/bin/bash
{ time -p mpirun -n 2 ./x.out in.txt ; } 2> timing.txt
