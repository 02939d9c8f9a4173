# SPDX-License-Identifier: Apache-2.0
"""Test settings of several components for an MPI program on a network with latency, from a campaign to a user's job."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon, install, tune

pytestmark = pytest.mark.cluster

NODES = 8
CALLS = "/srv/apps/calls"
# A program that sums 8 KiB. At the latency of the cluster in this file, Open MPI's default algorithm takes twice as
# long as the best algorithm.
PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    static float sum[2048], part[2048];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(part, sum, 2048, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank)
        puts("done");
    return MPI_Finalize();
}
"""
SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=calls --nodes={NODES} --ntasks-per-node=1
echo "rules=$OMPI_MCA_coll_tuned_dynamic_rules_filename io=$OMPI_MCA_io_ompio_num_aggregators"
mpirun {CALLS}
"""
CAMPAIGN = {
    "name": "calls",
    "component": "together",
    "settings": {
        "components": {
            "openmpi-collectives": {
                "nodes": NODES,
                "calls": [{"collective": "allreduce", "low": 1024, "high": 16384}],
            },
        }
    },
    "application": {"script": "/home/alice/calls.sh", "user": "alice"},
    "search": {"method": "screening", "budget": 5, "window": 0},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 1, "final_pairs": 3},
    "executor": {"kind": "slurm"},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(NODES, latency_us=500) as running:
        install(running)
        running.write("/root/calls.c", PROGRAM)
        running.run(["install", "-d", "/srv/apps"])
        running.run(["mpicc", "-O2", "-o", CALLS, "/root/calls.c"])
        running.write("/home/alice/calls.sh", SCRIPT, user="alice", mode=0o755)
        yield running


def test_one_command_profiles_a_script_tunes_it_and_leaves_a_record(cluster: VirtualCluster) -> None:
    words = [
        "reprise",
        "tune",
        "application",
        "/home/alice/calls.sh",
        "--runs=6",
        "--pairs=3",
        "--later=1",
        "--no-proxy",
    ]
    done = cluster.run([*words, "--yes", "--json"], user="reprise", timeout_s=280)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["record"] and told["gain"]["low"] > 0.2
    assert told["its_jobs"]["verdict"] == "apply", "the decision for the user's jobs"


def test_a_program_gains_what_its_own_campaign_measured(cluster: VirtualCluster) -> None:
    told = tune(cluster, "/var/lib/reprise/calls.yaml", CAMPAIGN, 240)
    assert told["record"] and told["problems"][0]["comparison"]["gain_low"] > 0.2
    with Daemon(cluster):
        end = cluster.wait_job(cluster.submit("calls.sh", user="alice"), timeout_s=60)
    assert "rules=/var/lib/reprise/artifacts/" in end.output and "done" in end.output
