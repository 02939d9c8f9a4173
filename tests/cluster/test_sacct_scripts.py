# SPDX-License-Identifier: Apache-2.0
"""Test the two documented commands that read a site's batch scripts from the accounting of a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reprise.matcher.evaluation.script_folder import JOBS, LEAST_SCRIPTS, SCRIPTS, scripts_in
from reprise.matcher.submission import sacct, sacct_scripts
from tests.cluster.configuration import slurm_release
from tests.cluster.machine import VirtualCluster
from tests.cluster.slurm_services import ACCOUNT, MEMBER, start_accounting
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(slurm_release() < (21, 8), reason="Slurm stores batch scripts only since 21.08"),
]
FOLDER = "/root/scripts"
SINCE = "-S now-1hours"


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=2) as running:
        start_accounting(running, "AccountingStoreFlags=job_script\n")
        running.run(["sacctmgr", "--immediate", "add", "user", "alice", f"account={ACCOUNT}"])
        running.run(["install", "-d", FOLDER])
        yield running


def submit(cluster: VirtualCluster, user: str, *argv: str, stdin: str | None = None) -> None:
    cluster.run(["sbatch", "--chdir", f"/home/{user}/tides", *argv], user=user, stdin=stdin)


def test_each_script_that_was_submitted_is_there_once_with_who_submitted_it(cluster: VirtualCluster) -> None:
    for user in ("alice", MEMBER):
        cluster.run(["install", "-d", "-o", user, f"/home/{user}/tides"])
    for number in range(LEAST_SCRIPTS):
        script = f"#!/bin/bash\n#SBATCH -N 1 --job-name=case{number}\n./tide2d {number}"
        cluster.write(f"/home/alice/{number}.sh", script, user="alice")
        submit(cluster, "alice", f"/home/alice/{number}.sh")
    submit(cluster, MEMBER, "--array=1-3", stdin="#!/bin/bash\n\n./many $SLURM_ARRAY_TASK_ID\n\n")
    submit(cluster, MEMBER, stdin="#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N1\n./coupled\n")
    submit(cluster, MEMBER, "--wrap", "./wrapped")
    cluster.run(["srun", "true"], user=MEMBER)
    wait_for("the jobs", lambda: states(cluster) == ["FAILED"] * (LEAST_SCRIPTS + 6) + ["COMPLETED"], 60, every_s=0.2)
    printed = f"{sacct_scripts.LISTED} {SINCE} | {sacct_scripts.PRINTED}"
    cluster.run(["bash", "-c", f"{sacct.COMMAND} {SINCE} > {FOLDER}/{JOBS}; {printed} > {FOLDER}/{SCRIPTS}"])
    found = scripts_in(cluster.path(FOLDER))
    programs = {user: sorted(one.metadata.program for one in found if one.owner == user) for user in ("alice", MEMBER)}
    assert programs["alice"] == ["tide2d"] * LEAST_SCRIPTS
    assert programs[MEMBER] == ["coupled", "many", "wrapped"]
    assert {one.project for one in found} == {f"{user}/tides" for user in programs}
    assert found[0].metadata.job_name == "case0"


def states(cluster: VirtualCluster) -> list[str]:
    """Return the states of all jobs, including array tasks and the components of the heterogeneous job."""
    listed = ["sacct", "-aXnP", "--starttime=now-1hours", "--format=State"]
    return sorted(cluster.run(listed).stdout.split(), reverse=True)
