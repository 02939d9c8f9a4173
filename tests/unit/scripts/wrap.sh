srun ./from-wrap -x 1
