#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --job-name=reprise-7-0a1b2c3d
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=3
#SBATCH --no-requeue
#SBATCH --output=job.out
#SBATCH --partition=main
#SBATCH --exclusive

cd /shared/campaigns/7/bcast_65536/0012 || exit 1
export EMPTY=''
export OMPI_MCA_coll_tuned_dynamic_rules_filename=/shared/campaigns/7/bcast_65536/0012/rules.conf
export REPRISE=off
export SEGMENT=0

# Time is taken here, around the program, so that waiting in the queue is never part of it. The file `result` appears
# whole, by its renaming, and says that the trial is over: exit status, then seconds.
begin=$(date +%s.%N)
timeout --kill-after=10 90 mpirun -np 8 --map-by ppr:2:node -x EMPTY -x REPRISE -x SEGMENT /usr/local/libexec/reprise/collbench --collective bcast --sizes 65536 >stdout 2>stderr </dev/null
status=$?
end=$(date +%s.%N)
echo "$status $(LC_ALL=C awk "BEGIN { printf \"%.6f\", $end - $begin }")" >result.part
mv result.part result
exit $status
