#!/bin/bash
read -r A B <<< "first second"
mapfile -t LINES < <(ls *.dat | sort -u)
srun ./reader "${LINES[0]}" <<< "$A"
