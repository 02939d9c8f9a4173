#!/bin/bash
CASE=run_a_b
MODE=fast
srun ./sim --case ${CASE//_/-} --first ${CASE/_/.} --mode ${MODE^^} --start ${CASE:0:3} --rest ${CASE:4}
