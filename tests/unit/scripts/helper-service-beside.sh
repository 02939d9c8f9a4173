#!/bin/bash
#SBATCH --gres=gpu:1
./frp/frpc -c frpc.toml &
sleep 5
python serve_model.py --port 8080
