#!/bin/bash
mpirun -np 12 ./atm atm.nml : -np 4 ./ocn ocn.nml
