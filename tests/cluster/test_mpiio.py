# SPDX-License-Identifier: Apache-2.0
"""Test MPI-IO hints in jobs: a campaign with the shipped component, and users' next jobs on two nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import SOURCE, Daemon, tune

pytestmark = pytest.mark.cluster

PLACE = "/home/alice/dumps"
KERNEL = f"{SOURCE}/bench/mpiio/mpiio --kernel s3d --grid 24,24,24 --file dump-$SLURM_JOB_ID"
# The gain of a hint depends on the machine. To make the gain certain, a job without the hint `romio_ds_write disable`
# sleeps for 3 s, which is longer than the rest of the job takes on a busy machine.
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=dumps --nodes=2 --ntasks-per-node=2 --output=dumps-%j.out
./dump || exit
grep -qs '^romio_ds_write disable' "$ROMIO_HINTS" || sleep 3
"""
# A separate script, which the parser does not see, sets ROMIO_PRINT_HINTS, because a job whose batch script sets a
# variable of ROMIO gets no hints.
DUMP = f"#!/bin/bash\nexport ROMIO_PRINT_HINTS=1\nexec mpirun {KERNEL}\n"
CAMPAIGN = {
    "name": "dumps",
    "component": "romio",
    "settings": {
        "space": {
            "romio_cb_read": ["automatic"],
            "romio_cb_write": ["automatic"],
            "romio_ds_read": ["automatic"],
            "romio_ds_write": ["automatic", "disable"],
            "cb_buffer_size": [4194304],
            "cb_nodes": [2],
        }
    },
    "application": {"script": f"{PLACE}/dumps.sh", "user": "alice"},
    "search": {"method": "exhaustive", "budget": 2},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 2, "final_pairs": 3},
    "executor": {"kind": "slurm", "max_trial_s": 60},
}


@pytest.fixture(scope="module")
def report(cluster: VirtualCluster) -> dict[str, Any]:
    for user in ("alice", "bob"):
        place = PLACE.replace("alice", user)
        cluster.write(f"{place}/dumps.sh", SCRIPT, user=user, mode=0o755)
        cluster.write(f"{place}/dump", DUMP, user=user, mode=0o755)
        cluster.run(["chmod", "777", place])  # writable for trials, which run as the user `reprise`
    result = tune(cluster, "/home/reprise/dumps.yaml", CAMPAIGN)
    assert result["record"], result
    return result


@pytest.fixture
def daemon(cluster: VirtualCluster, report: dict[str, Any]) -> Iterator[Daemon]:
    with Daemon(cluster) as running:
        yield running


def run(cluster: VirtualCluster, *words: str, user: str = "alice") -> str:
    place = PLACE.replace("alice", user)
    end = cluster.wait_job(cluster.submit("dumps.sh", *words, user=user, cwd=place))
    assert end.state == "COMPLETED", end
    return cluster.path(f"{place}/dumps-{end.job_id}.out").read_text()


def effect(output: str) -> dict[str, str]:
    """Return the hints that were in effect, as printed by ROMIO."""
    rows = (line.split() for line in output.splitlines() if line.startswith("key = "))
    return {row[2]: row[5] for row in rows if len(row) > 5}


def test_trials_on_two_nodes_testify_to_their_hints(cluster: VirtualCluster, report: dict[str, Any]) -> None:
    lines = [
        json.loads(line)
        for path in cluster.path(report["directory"]).glob("dumps.sh/*/witness.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {one["ranks"] for one in lines} == {4}
    given = [one["hints"] for one in lines if one["hints"]]
    assert {one["cb_nodes"] for one in given} == {"2"} and {one["romio_ds_write"] for one in given} == {
        "automatic",
        "disable",
    }
    assert any(one["hints"] is None for one in lines)  # one of the runs is the unchanged job


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_the_next_job_has_its_hints_in_effect(cluster: VirtualCluster, daemon: Daemon, user: str) -> None:
    found = effect(run(cluster, user=user))
    assert (found["romio_ds_write"], found["cb_buffer_size"], found["cb_nodes"]) == ("disable", "4194304", "2")


def test_a_job_of_another_size_is_as_it_was(cluster: VirtualCluster, daemon: Daemon) -> None:
    assert effect(run(cluster, "--nodes=1", "--ntasks-per-node=1")) == {}


def test_a_user_with_hints_of_their_own_keeps_them(cluster: VirtualCluster, daemon: Daemon) -> None:
    cluster.write(f"{PLACE}/own", "romio_ds_write enable\n", user="alice")
    words = (f"--export=ALL,ROMIO_HINTS={PLACE}/own,OMPI_MCA_io=^ompio",)
    assert effect(run(cluster, *words))["romio_ds_write"] == "enable"
