# SPDX-License-Identifier: Apache-2.0
"""Test `reprise tune profile` on two nodes: ranks of mpirun, tasks of srun, and communication between nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE

pytestmark = pytest.mark.cluster

PLACE = "/home/reprise/profiled"
RANKS = 4
HEADER = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --time=5\nexport OMPI_MCA_mpi_yield_when_idle=1\n"


@pytest.fixture(scope="module")
def place(cluster: VirtualCluster) -> str:
    cluster.run(["mkdir", "-p", PLACE], user="reprise")
    for compiler, source, name in (
        ("mpicc", "known_calls.c", "known_calls"),
        ("mpifort", "known_f08.f90", "known_f08"),
        ("cc", "known_files.c", "known_files"),
    ):
        cluster.run([compiler, f"{SOURCE}/tests/unit/{source}", "-o", f"{PLACE}/{name}"], user="reprise")
    return PLACE


def profiled(cluster: VirtualCluster, script: str, *words: str) -> dict[str, Any]:
    cluster.write(f"{PLACE}/job.sh", HEADER + script, user="reprise", mode=0o755)
    done = cluster.run(
        ["reprise", "tune", "profile", f"{PLACE}/job.sh", "--json", *words], user="reprise", timeout_s=300
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_ranks_of_mpirun_on_two_nodes_are_one_profile(cluster: VirtualCluster, place: str) -> None:
    said = profiled(cluster, f"mpirun {place}/known_calls end {place}/out\n", "--output", f"{place}/profile.json")
    profile = said["profile"]
    assert (profile["ranks"], profile["nodes"], profile["slowest"]["rank"]) == (RANKS, 2, 0)
    assert profile["programs"] == ["known_calls"]
    found = {(one["kind"], one["ranks"], one["nodes"], one["calls"]) for one in profile["collectives"]}
    assert {("allreduce", 4, 2, 11), ("bcast", 4, 2, 5), ("barrier", 2, 2, 7), ("iallreduce", 2, 2, 1)} <= found
    messages = {(one["where"], one["bytes"]): (one["calls"], one["total_bytes"]) for one in profile["messages"]}
    # Rank 0 sends to rank 1 on its node and receives from rank 3 on the other node.
    assert messages["onnode", 65535] == (20, 800_000) and messages["offnode", 65535] == (20, 800_000)
    assert profile["mpi_files"][0]["op"] in ("write", "meta") and profile["waiting"] < 0.5
    assert json.loads(cluster.path(f"{place}/profile.json").read_text()) == profile
    assert {one["component"] for one in said["verdicts"]} >= {"sro", "openmpi-collectives"}


def test_fortran_and_what_runs_beside_it_are_seen(cluster: VirtualCluster, place: str) -> None:
    script = f"cat {SOURCE}/README.md >/dev/null\nmpirun {place}/known_f08\nmpirun {place}/known_f08\n"
    profile = profiled(cluster, script)["profile"]
    (row,) = profile["collectives"]
    assert (row["kind"], row["calls"], row["nodes"]) == ("allreduce", 14, 2)


def test_tasks_of_srun_without_mpi_are_seen(cluster: VirtualCluster, place: str) -> None:
    profile = profiled(cluster, f"srun --mpi=none sh -c 'exec {place}/known_files {place}/data-$SLURM_PROCID'\n")[
        "profile"
    ]
    assert profile["ranks"] == 0 and profile["slowest"]["rank"] is None and profile["nodes"] == 2
    calls = {(one["op"], one["bytes"]): one["sequential_calls"] + one["other_calls"] for one in profile["files"]}
    assert calls["read", 8191] == 1024 and calls["write", (1 << 21) - 1] == 1  # calls of a task and its child


def test_a_job_that_fails_is_told_in_one_line(cluster: VirtualCluster, place: str) -> None:
    cluster.write(f"{place}/bad.sh", HEADER + "echo no such input >&2; exit 3\n", user="reprise", mode=0o755)
    done = cluster.run(["reprise", "tune", "profile", f"{place}/bad.sh"], user="reprise", check=False)
    assert done.returncode == 1 and "bad.sh: exit status 3: no such input: its output is in" in done.stderr
