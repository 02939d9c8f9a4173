#!/bin/bash
if [ -f checkpoint.bin ] && [[ -n "${RESUME:-}" || $FORCE == "(yes)" ]]; then
  OPTS="--resume checkpoint.bin"
elif test -x ./setup; then
  echo "fresh (start)"
fi
case "$SLURM_JOB_PARTITION" in
  gpu|gpu-long) srun ./app_gpu --dev 0 ;;
  *)            srun ./app_cpu ;;
esac
