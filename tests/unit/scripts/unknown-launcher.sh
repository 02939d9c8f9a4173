#!/bin/bash
$MPIRUN -np 8 ./bench --all
