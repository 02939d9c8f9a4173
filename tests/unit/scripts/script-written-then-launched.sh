#!/bin/bash
cat > rank.sh <<'EOF'
#!/bin/bash
export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID
exec "$@"
EOF
chmod +x rank.sh
srun -n 8 ./rank.sh ./gpu_code --big
