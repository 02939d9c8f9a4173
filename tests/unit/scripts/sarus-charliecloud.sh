#!/bin/bash
srun -n 2 sarus run --mpi --mount=type=bind,source=/a,destination=/b ethcscs/osu:5.9 ./osu_bw -m 8
srun -n 2 ch-run ./img -- ./no
