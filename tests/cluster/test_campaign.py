# SPDX-License-Identifier: Apache-2.0
"""Test campaigns on a real Slurm, run by the service user with both executors and both launchers, and with failures.

`test_campaign_jobs.py` tests failures of trials that are separate jobs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.tuning import Site
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=4) as running:
        yield running


@pytest.fixture
def site(cluster: VirtualCluster) -> Site:
    return Site(cluster)


@pytest.mark.parametrize(("kind", "launcher"), [("allocation", "srun"), ("allocation", "mpirun"), ("slurm", "mpirun")])
def test_a_campaign_runs_on_all_nodes_and_ends_with_a_record(site: Site, kind: str, launcher: str) -> None:
    file = site.campaign(kind, {}, launcher=launcher)
    done = site.reprise("tune", "run", file, "--yes", "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["record"] == 1 and told["states"] == {"complete": 7}
    outputs = list(site.cluster.path(f"{site.home}/work").glob("*/one/*/stdout"))
    assert len(outputs) == 7 and site.jobs() == []
    for output in outputs:
        words = [line.split() for line in output.read_text().splitlines()]
        assert sorted(word[3] for word in words) == ["node0", "node1", "node2", "node3"]
        assert {word[5] for word in words} == {"REPRISE=off"}
        assert len({word[1] for word in words}) == 1  # all ranks have the same value


def test_a_killed_coordinator_loses_nothing_and_leaves_no_job_after_the_resumption(site: Site) -> None:
    waiting = f"{site.home}/waiting"
    before = f'[ $n != 4 ] || [ "$rank" != 0 ] || [ -e {waiting} ] || {{ touch {waiting}; sleep 100; }}'
    first = site.start(site.campaign("allocation", {"before": before}))
    wait_for("the fourth trial", lambda: site.cluster.path(waiting).exists(), 60)
    site.cluster.run(["kill", "-9", site.pid()])
    first.wait()
    assert site.status()["state"] == "interrupted" and len(site.jobs()) == 1
    site.reprise("tune", "resume", "1")
    assert site.status()["record"] == 1
    assert site.status()["states"] == {"complete": 7}
    assert len(site.runs()) == 7 + 1 + 1  # the trials, the interrupted trial's second run, and the proof's run
    assert site.jobs() == []


def test_a_stopped_campaign_releases_its_nodes_and_can_be_resumed(site: Site) -> None:
    waiting = f"{site.home}/waiting"
    before = f'[ $n != 3 ] || [ "$rank" != 0 ] || [ -e {waiting} ] || {{ touch {waiting}; sleep 100; }}'
    first = site.start(site.campaign("allocation", {"before": before}))
    wait_for("the third trial", lambda: site.cluster.path(waiting).exists(), 60)
    site.cluster.run(["kill", "-TERM", site.pid()])
    assert first.wait() == 130
    wait_for("the end of the allocation", lambda: not site.jobs(), 60, every_s=0.1)
    assert "continue with `reprise tune resume 1`" in site.cluster.path(f"{site.home}/out").read_text()
    assert site.status()["state"] == "stopped"
    site.reprise("tune", "resume", "1")
    assert site.status()["states"] == {"complete": 7}


def test_a_lost_allocation_is_replaced(site: Site) -> None:
    cancel = '[ $n != 4 ] || [ "$rank" != 0 ] || { scancel $SLURM_JOB_ID; sleep 100; }'
    site.reprise("tune", "run", site.campaign("allocation", {"before": cancel}), "--yes")
    assert site.status()["states"] == {"complete": 7, "cancelled": 1}
    assert site.status()["record"] == 1


def test_a_trial_that_hangs_is_stopped_and_the_campaign_goes_on(site: Site) -> None:
    hang = '[ $n != 3 ] || [ "$rank" != 0 ] || sleep 100'
    site.reprise("tune", "run", site.campaign("allocation", {"before": hang}, max_trial_s=2), "--yes")
    assert site.status()["states"] == {"complete": 6, "timeout": 1}
    wait_for("the end of the trial that hung", lambda: not any("sleep 100" in line for line in processes(site)), 15)


def processes(site: Site) -> list[str]:
    lines: list[str] = site.cluster.run(["ps", "-eo", "user:20,args"]).stdout.splitlines()
    return [line for line in lines if line.startswith("reprise")]


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_a_controller_that_is_away_for_a_while_fails_no_trial(site: Site, launcher: str) -> None:
    waiting = f"{site.home}/waiting"
    once = f"touch {waiting}; while [ -e {waiting} ]; do sleep 0.1; done"
    before = f'[ $n != 3 ] || [ "$rank" != 0 ] || {{ {once}; }}'
    first = site.start(site.campaign("allocation", {"before": before, "timeout_s": 200}, launcher=launcher))
    wait_for("the third trial", lambda: site.cluster.path(waiting).exists(), 60)
    site.cluster.run(["pkill", "-x", "slurmctld"])
    try:
        wait_for("slurmctld's end", lambda: site.cluster.run(["pgrep", "-x", "slurmctld"], check=False).returncode, 60)
        site.cluster.path(waiting).unlink()
        fourth = next(site.cluster.path(f"{site.home}/work").glob("*/one")) / "0003/stderr"
        words = ("srun: error: ", "ORTE daemon has unexpectedly failed")
        wait_for(
            "the error of srun or mpirun", lambda: fourth.exists() and any(map(fourth.read_text().count, words)), 60
        )
    finally:
        site.cluster.popen(["slurmctld", "-D"], log="/var/log/slurm/slurmctld-again.out")
    assert first.wait(240) == 0
    states = site.status()["states"]
    assert states.pop("cancelled") >= 1 and states == {"complete": 7} and site.status()["record"] == 1
    wait_for("all nodes", lambda: site.cluster.run(["sinfo", "-ho%t", "-pmain"]).stdout.split() == ["idle"], 120)


@pytest.mark.parametrize("kind", ["allocation", "slurm"])
def test_a_campaign_that_can_never_start_says_so_at_once(site: Site, kind: str) -> None:
    done = site.reprise("tune", "run", site.campaign(kind, {"nodes": 9}), "--yes", check=False)
    assert done.returncode == 1 and "for 9 nodes can never start (Partition" in done.stderr.splitlines()[-1]
    assert site.jobs() == [] and site.status()["state"] == "stopped"


def test_a_partition_that_is_not_there_is_one_line(site: Site) -> None:
    done = site.reprise("tune", "run", site.campaign("slurm", {}, partition="nowhere"), "--yes", check=False)
    assert done.returncode == 1 and "invalid partition specified: nowhere" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr and site.status()["state"] == "stopped"


def test_a_program_that_is_not_there_fails_the_campaign_in_one_line(site: Site) -> None:
    before = shlex.join(["exec", "/no/such/benchmark"])
    done = site.reprise("tune", "run", site.campaign("allocation", {"before": before}), "--yes", check=False)
    assert done.returncode == 1 and "the default itself did not run" in done.stderr.splitlines()[-1]
    assert "/no/such/benchmark" in done.stderr.splitlines()[-1] and site.jobs() == []
