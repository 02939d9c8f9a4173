#!/bin/bash
#SBATCH -n 2
run() {
  echo "run $1"
  srun "$1" --in "$2"
}
run ./coag a.dat
