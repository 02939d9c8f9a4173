#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nodes=2 --ntasks-per-node=8
#SBATCH --output=mine.out
#SBATCH --job-name=reprise-7-0a1b2c3d
#SBATCH --time=11
#SBATCH --no-requeue
#SBATCH --partition=main
#SBATCH --exclusive
#SBATCH --fastio=yes
#SBB size=4G

cd /shared/campaigns/7/bcast_65536/0012 || exit 1

# The job that creates the link `claimed` runs this trial, again after a requeue; any other job of the trial exits.
if [ -n "${SLURM_JOB_ID:-}" ]; then
  ln -s "$SLURM_JOB_ID" claimed 2>/dev/null || [ "$(readlink claimed)" = "$SLURM_JOB_ID" ] ||
    { echo "job $(readlink claimed) ran this trial: remove result and claimed to run it again"; exit 0; }
  [ ! -e result ] || exit 0
fi

export ASAN_OPTIONS=verify_asan_link_order=0
export EMPTY=''
export REPRISE=off
export SRO_SIZE=0
export SLURM_SUBMIT_DIR=/home/alice/run
# With --export=NONE, a script's steps do not inherit its variables; export those of the trial explicitly.
case "${SLURM_EXPORT_ENV:-ALL}" in
  *ALL*) ;;
  NONE | NIL) export SLURM_EXPORT_ENV=ASAN_OPTIONS,EMPTY,LD_PRELOAD,REPRISE,SRO_SIZE ;;
  *) export SLURM_EXPORT_ENV+=,ASAN_OPTIONS,EMPTY,LD_PRELOAD,REPRISE,SRO_SIZE ;;
esac

# The file `result`, renamed into place so that it is never partial, marks the end of the trial: exit status, seconds,
# nodes, and in Slurm's form the processors and tasks of each node and its limits of memory.
over() {
  sizes="${SLURM_JOB_CPUS_PER_NODE:--} ${SLURM_TASKS_PER_NODE:--} ${SLURM_MEM_PER_NODE:--} ${SLURM_MEM_PER_CPU:--}"
  sizes="$sizes ${SLURM_MEM_PER_GPU:--}"
  echo "$1 $2 ${SLURM_JOB_NUM_NODES:-1} $sizes" >result.part &&
    mv result.part result
  exit "$1"
}

bash before.sh >before.out 2>&1 </dev/null
status=$?
if [ $status != 0 ]; then
  echo "the command before the trial failed: $(tail -n 1 before.out)" >stderr
  over $status 0
fi

# Time is measured here, around the program, so that it never includes waiting in the queue. The wall clock is used while
# it agrees with the monotonic clock, which has a resolution of 0.01 s but is never adjusted.
begin="$(date +%s.%N) $(cut -d ' ' -f 1 /proc/uptime)"
cd /home/alice/run || over 1 0
timeout --kill-after=10 600 env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}"/opt/a.so:/opt/b.so /bin/bash -l /shared/campaigns/7/bcast_65536/0012/application.sh \
  >/shared/campaigns/7/bcast_65536/0012/stdout 2>/shared/campaigns/7/bcast_65536/0012/stderr </dev/null
status=$?
end="$(date +%s.%N) $(cut -d ' ' -f 1 /proc/uptime)"
cd /shared/campaigns/7/bcast_65536/0012 || exit 1
over $status "$(echo "$begin $end" | LC_ALL=C awk '{
  wall = $3 - $1; steady = $4 - $2; apart = wall - steady
  printf "%.6f", (apart < -0.05 || apart > 0.05) ? steady : wall
}')"
