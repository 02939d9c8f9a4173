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

# Whichever job of this trial begins first runs it, also when it is requeued; a second one of the same trial does not.
if [ -n "${SLURM_JOB_ID:-}" ]; then
  ln -s "$SLURM_JOB_ID" claimed 2>/dev/null || [ "$(readlink claimed)" = "$SLURM_JOB_ID" ] ||
    { echo "job $(readlink claimed) ran this trial: remove result and claimed to run it again"; exit 0; }
  [ ! -e result ] || exit 0
fi

export EMPTY=''
export REPRISE=off
export SRO_SIZE=0
export SLURM_SUBMIT_DIR=/home/alice/run
# A script with --export=NONE keeps its variables from its steps; those of the trial are to get there.
case "${SLURM_EXPORT_ENV:-ALL}" in
  *ALL*) ;;
  NONE | NIL) export SLURM_EXPORT_ENV=EMPTY,LD_PRELOAD,REPRISE,SRO_SIZE ;;
  *) export SLURM_EXPORT_ENV+=,EMPTY,LD_PRELOAD,REPRISE,SRO_SIZE ;;
esac

# The file `result` appears whole, by its renaming, and says that the trial is over: exit status, seconds, nodes, and
# as Slurm writes them the processors and the tasks of each node, and its limits of memory.
over() {
  sizes="${SLURM_JOB_CPUS_PER_NODE:--} ${SLURM_TASKS_PER_NODE:--} ${SLURM_MEM_PER_NODE:--} ${SLURM_MEM_PER_CPU:--}"
  echo "$1 $2 ${SLURM_JOB_NUM_NODES:-1} $sizes" >result.part &&
    mv result.part result
  exit "$1"
}

bash before.sh >before.out 2>&1 </dev/null
status=$?
if [ $status != 0 ]; then
  echo "what is to be run before the trial failed: $(tail -n 1 before.out)" >stderr
  over $status 0
fi

# Time is taken here, around the program, so that waiting in the queue is never part of it: by the clock that nobody
# sets, which tells hundredths, and by the other one for as long as the two agree.
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
