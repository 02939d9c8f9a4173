#!/bin/bash
#SBATCH -t 02:00:00
tar czf backup.tgz /project/run7
rsync -a backup.tgz store:/arch/
