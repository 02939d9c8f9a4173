#!/bin/bash
#SBATCH -t 02:00:00
./stage01 in
./stage02 in
./stage03 in
./stage04 in
./stage05 in
./stage06 in
./stage07 in
./stage08 in
./stage09 in
./stage10 in
./stage11 in
./stage12 in
./stage13 in
./stage14 in
./stage15 in
./stage16 in
./stage17 in
./stage18 in
./stage19 in
