#!/bin/bash
cp -r template run && cd run
./generate-mesh --fine
srun hostname | sort > hosts
mpirun -np 16 ./solver -m mesh.bin
mpirun -np 1 ./postprocess
