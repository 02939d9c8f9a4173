#!/bin/bash
srun -n 4 -- env -i PATH=/bin timeout 60 -- ./x -- -n 1
