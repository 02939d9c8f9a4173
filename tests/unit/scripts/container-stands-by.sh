#!/bin/bash
#SBATCH --exclusive
docker run -d --name box registry.example.org/bench:2
docker exec box ./bench.sh --gpus 8
docker rm -f box
