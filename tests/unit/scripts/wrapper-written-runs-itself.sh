#!/bin/bash
#SBATCH -n 10
cat <<'END' > step.sh
#!/bin/bash
cd /scratch/$SLURM_PROCID
./ensemble_member cfg.$SLURM_PROCID
END
srun bash step.sh
