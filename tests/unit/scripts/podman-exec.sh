#!/bin/bash
podman run -d --name worker pytorch:2.1 sleep infinity > /dev/null
podman exec -it -w /src worker python train.py --epochs 3
