#!/bin/bash
#SBATCH -c 4
luigi --module reef.tasks CountFish --local-scheduler --year 2021
