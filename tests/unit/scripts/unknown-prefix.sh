#!/bin/bash
$DEBUG_TIMER mpirun -np 2 ./bench
