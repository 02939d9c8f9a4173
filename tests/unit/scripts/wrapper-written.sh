#!/bin/bash
#SBATCH -N 1
#SBATCH -n 8
cat > wrap_rank.sh <<'END'
#!/bin/bash
export ROCR_VISIBLE_DEVICES=$SLURM_LOCALID
exec "$@"
END
chmod +x wrap_rank.sh
srun ./wrap_rank.sh ./picshift -i beam.in
