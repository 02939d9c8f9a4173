#!/bin/bash
#SBATCH -t 02:00:00
ray start --head
ray job submit --working-dir . -- python shard_embed.py --shards 64
