#!/bin/bash
enroot create --name cuda nvidia+cuda.sqsh
enroot start --rw --mount /scratch:/mnt cuda nbody -benchmark -numbodies 65536
