#!/bin/bash
#SBATCH	-J	tabbed	-n	4
if	true
then
	srun	-n	4	./tab	-a	1
fi
