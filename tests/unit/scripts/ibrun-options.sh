#!/bin/bash
ibrun -n 16 -o 32 ./part_b --phase 2 &
ibrun -n 32 -o 0 ./part_a &
wait
