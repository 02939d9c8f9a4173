#!/bin/bash
#SBATCH -J post
module load python
python3 - <<'PY'
import subprocess
subprocess.run(["mpirun", "./no"])  # it's not the shell's
PY
