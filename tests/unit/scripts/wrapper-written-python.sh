#!/bin/bash
#SBATCH -n 2
cat > go.py <<END
print("hi")
END
srun -n 2 python go.py
