#!/bin/bash
conda run --no-capture-output -n geo python -W ignore tiles.py --zoom 12
