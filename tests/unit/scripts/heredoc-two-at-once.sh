#!/bin/bash
paste /dev/fd/3 /dev/fd/4 3<<LEFT 4<<RIGHT
mpirun ./no
LEFT
mpirun ./neither
RIGHT
srun -n 2 ./join out.txt
