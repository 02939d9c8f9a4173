#!/bin/bash
#SBATCH --ntasks 32
if [ ! -e case.inp ]; then
	cat > case.inp <<-EOT
		&control
		  srun = './wrong'
		/
	EOT
fi
srun ./cfd -i case.inp
