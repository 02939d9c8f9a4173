#!/bin/bash
srun $LAMMPS_EXE ./in.melt
