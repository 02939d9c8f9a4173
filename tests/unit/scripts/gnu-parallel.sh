#!/bin/bash
parallel -j 16 --joblog log srun -n1 --exclusive ./fold --seq {} ::: a.fa b.fa
