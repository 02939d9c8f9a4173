#!/bin/bash
#SBATCH -c 16
orbit_reset system.dat
./orbit_walk system.dat
./orbit2table system.dat
