#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=reprise-7-0a1b2c3d
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=3
#SBATCH --no-requeue
#SBATCH --partition=main
#SBATCH --exclusive

cd /shared/campaigns/7/bcast_65536/0012 || exit 1

# The job that creates the link `claimed` runs this trial, again after a requeue; any other job of the trial exits.
if [ -n "${SLURM_JOB_ID:-}" ]; then
  ln -s "$SLURM_JOB_ID" claimed 2>/dev/null || [ "$(readlink claimed)" = "$SLURM_JOB_ID" ] ||
    { echo "job $(readlink claimed) ran this trial: remove result and claimed to run it again"; exit 0; }
  [ ! -e result ] || exit 0
fi

export EMPTY=''
export OMPI_MCA_coll_tuned_dynamic_rules_filename=/shared/campaigns/7/bcast_65536/0012/rules.conf
export REPRISE=off
export SEGMENT=0

# The file `result`, renamed into place so that it is never partial, marks the end of the trial: exit status, seconds,
# nodes, and in Slurm's form the processors and tasks of each node and its limits of memory.
over() {
  sizes="${SLURM_JOB_CPUS_PER_NODE:--} ${SLURM_TASKS_PER_NODE:--} ${SLURM_MEM_PER_NODE:--} ${SLURM_MEM_PER_CPU:--}"
  sizes="$sizes ${SLURM_MEM_PER_GPU:--}"
  echo "$1 $2 ${SLURM_JOB_NUM_NODES:-4} $sizes" >result.part &&
    mv result.part result
  exit "$1"
}

# Time is measured here, around the program, so that it never includes waiting in the queue. The wall clock is used while
# it agrees with the monotonic clock, which has a resolution of 0.01 s but is never adjusted.
begin="$(date +%s.%N) $(cut -d ' ' -f 1 /proc/uptime)"
timeout --kill-after=10 90 mpirun -np 8 --map-by ppr:2:node -x EMPTY -x REPRISE -x SEGMENT /usr/local/libexec/reprise/collbench --collective bcast --sizes 65536 \
  >/shared/campaigns/7/bcast_65536/0012/stdout 2>/shared/campaigns/7/bcast_65536/0012/stderr </dev/null
status=$?
end="$(date +%s.%N) $(cut -d ' ' -f 1 /proc/uptime)"
cd /shared/campaigns/7/bcast_65536/0012 || exit 1
over $status "$(echo "$begin $end" | LC_ALL=C awk '{
  wall = $3 - $1; steady = $4 - $2; apart = wall - steady
  printf "%.6f", (apart < -0.05 || apart > 0.05) ? steady : wall
}')"
