#!/bin/bash
set -euo pipefail
cd "$SLURM_SUBMIT_DIR"
exec srun --kill-on-bad-exit ./daemonised -f conf
