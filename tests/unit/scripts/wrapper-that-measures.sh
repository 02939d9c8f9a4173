#!/bin/bash
#SBATCH -n 1
srun measure-energy ./lake_plain -i 100
