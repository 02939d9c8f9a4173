#!/bin/bash
#SBATCH --ntasks=96
cat > coupled.conf <<END
0-31   ./ocean.x ocean.nml
32-95  ./atmos.x atmos.nml
END
srun --multi-prog coupled.conf
