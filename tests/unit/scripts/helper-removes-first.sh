#!/bin/bash
#SBATCH -c 4
python remove_dark_frames.py frames
python frame_split.py frames
python lake-classifier.py frames
