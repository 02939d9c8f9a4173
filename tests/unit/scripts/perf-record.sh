#!/bin/bash
perf record -g -F 99 --call-graph dwarf ./kernel big.dat
