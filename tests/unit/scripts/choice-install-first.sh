#!/bin/bash
#SBATCH -t 02:00:00
python -m venv env
source env/bin/activate
pip install -r requirements.txt
python setup.py develop
python simulate_grid.py
