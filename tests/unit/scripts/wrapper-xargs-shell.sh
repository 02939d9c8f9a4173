#!/bin/bash
#SBATCH -t 02:00:00
cat ids | xargs -I% bash -c 'vina --ligand %.pdbqt --out %_o.pdbqt'
