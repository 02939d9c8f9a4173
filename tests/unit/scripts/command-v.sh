#!/bin/bash
command -v julia >/dev/null 2>&1 || { echo "no julia" >&2; exit 1; }
type mpirun && which srun
./serial_code input
