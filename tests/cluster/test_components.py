# SPDX-License-Identifier: Apache-2.0
"""Test a campaign that tunes a user's batch script with one job per trial, and the next job of that user."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import Daemon, tune

pytestmark = pytest.mark.cluster

PLACE = "/home/alice/tempo"
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=tempo --nodes=1
#SBATCH --output=tempo-%j.out
echo "tempo=$SRO_TEMPO in $PWD on $SLURM_JOB_NUM_NODES"
scontrol show job "$SLURM_JOB_ID" | grep -o "Nice=[0-9]*"
sleep "0.$((9 - ${SRO_TEMPO:-1}))"
"""
COMPONENT = """\
name: tempo
version: "1"
description: How fast a job sleeps
kind: application
activation:
  options: [nice=7]
  directives: ["#SBB size=1G"]
context: [nodes, tasks_per_node, processors]
before: echo "$HOSTNAME" >>/home/reprise/before.txt
parameters:
  SRO_TEMPO: {default: 1, min: 0, max: 8, step: 1}
"""
CAMPAIGN = {
    "name": "tempo",
    "component": "tempo",
    "settings": {"space": {"SRO_TEMPO": [0, 1, 4, 8]}},
    "application": {"script": f"{PLACE}/tempo.sh", "user": "alice"},
    "search": {"method": "exhaustive", "budget": 4},
    "noise": {"policy": "none"},
    "repetitions": {"default_runs": 2, "final_pairs": 3},
    "executor": {"kind": "slurm", "max_trial_s": 30},
}
TRIALS = (
    2 + 3 + 6
)  # 2 runs of the default, 1 of each other value, and 3 pairs that compare the best value with the default


@pytest.fixture(scope="module")
def report(cluster: VirtualCluster) -> dict[str, Any]:
    cluster.write("/etc/reprise/components/tempo.yaml", COMPONENT)
    cluster.write(f"{PLACE}/tempo.sh", SCRIPT, user="alice")
    result = tune(cluster, "/home/reprise/tempo.yaml", CAMPAIGN)
    assert result["record"], result
    return result


def test_each_trial_was_a_job_of_the_users_script_with_the_components_settings(
    cluster: VirtualCluster, report: dict[str, Any]
) -> None:
    trials = sorted(cluster.path(report["directory"]).glob("tempo.sh/*/stdout"))
    said = [path.read_text() for path in trials]
    assert len(said) == report["trials"] == TRIALS
    assert all("Nice=7" in text for text in said)
    assert {re.sub(r"=\d", "=N", text) for text in said} == {f"tempo=N in {PLACE} on 1\nNice=N\n"}
    assert {text[6] for text in said} == {"0", "1", "4", "8"}, "0 is tried like any other value"
    assert all("#SBB size=1G\n" in (path.parent / "trial.sh").read_text() for path in trials)
    assert len(cluster.path("/home/reprise/before.txt").read_text().splitlines()) == TRIALS
    assert [path.name for path in cluster.path(PLACE).iterdir()] == ["tempo.sh"], "the user's directory is unchanged"


def test_the_next_job_of_that_user_gets_the_variable(cluster: VirtualCluster, report: dict[str, Any]) -> None:
    assert report["parametrization"]["parameters"] == {"SRO_TEMPO": 8}
    assert report["note"] == "only for jobs that set --nice=7; `#SBB size=1G` themselves"
    (record,) = report["records"]
    assert record["context"]["tasks_per_node"] == 1 and record["context"]["processors"] >= 1, (
        "the record has the context of the trials"
    )
    with Daemon(cluster):
        end = cluster.wait_job(cluster.submit("tempo.sh", user="alice", cwd=PLACE))
    output = cluster.path(f"{PLACE}/tempo-{end.job_id}.out").read_text()
    assert output.startswith(f"tempo=8 in {PLACE}"), output
