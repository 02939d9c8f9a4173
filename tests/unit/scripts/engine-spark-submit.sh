#!/bin/bash
#SBATCH -t 02:00:00
spark-submit --master local[16] --driver-memory 60g etl/join_logs.py s3://b/in
