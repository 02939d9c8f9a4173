#!/bin/bash
jsrun --smpiargs="-gpu" -n 12 -a 1 -c 7 -g 1 -r 6 -l GPU-CPU -d packed -b packed:7 ./pic3d deck.toml
