# SPDX-License-Identifier: Apache-2.0
"""Test campaigns whose trials are separate jobs on a real Slurm: an application's script, and possible failures."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

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


HEADER = """\
#SBATCH --nodes=2 --ntasks-per-node=1
#SBATCH --output=/no/such/place/%j.out
#SBATCH --export=NONE
#SBATCH --time=1
"""
SCRIPT: dict[str, Any] = {"script": True, "nodes": 1}


def wait_in_run(site: Site, number: int) -> str:
    """Return a shell command that makes run `number` wait until a file is removed, but only the first time."""
    waiting, been = f"{site.home}/waiting", f"{site.home}/been"
    wait = f"touch {been} {waiting}; while [ -e {waiting} ]; do sleep 0.1; done"
    return f"[ $n != {number} ] || [ -e {been} ] || {{ {wait}; }}"


@contextlib.contextmanager
def campaign_in_run(site: Site, number: int, timeout_s: float = 30, **executor: Any) -> Iterator[Any]:
    """Run a campaign until run `number` waits; the run continues when the context is left."""
    settings = {**SCRIPT, "before": wait_in_run(site, number), "timeout_s": timeout_s}
    process = site.start(site.campaign("slurm", settings, **executor))
    waiting = site.cluster.path(f"{site.home}/waiting")
    wait_for("the run that waits", waiting.exists, 60)
    try:
        yield process
    finally:
        waiting.unlink(missing_ok=True)


def test_an_applications_script_runs_unchanged_on_its_own_nodes_with_the_trials_variables(site: Site) -> None:
    step = "srun --mpi=none /bin/sh -c 'echo \"step [$FAKE_ZERO] $FAKE_VALUE $(hostname) $LD_PRELOAD\"'"
    file = site.campaign("slurm", {"script": True, "header": HEADER, "before": step})
    site.reprise("tune", "run", file, "--yes")
    assert site.status()["states"] == {"complete": 7} and site.status()["record"] == 1
    outputs = list(site.cluster.path(f"{site.home}/work").glob("*/one/*/stdout"))
    assert len(outputs) == 7 and site.jobs() == []
    for output in outputs:
        words = [line.split() for line in output.read_text().splitlines()]
        steps = [word for word in words if word[0] == "step"]
        assert len({word[3] for word in steps}) == 2 and {word[1] for word in steps} == {"[0]"}
        assert {word[2] for word in steps} == {word[1] for word in words if word[0] == "value"}


def test_a_job_goes_on_while_its_coordinator_is_dead_and_is_taken_over(site: Site) -> None:
    with campaign_in_run(site, 4) as process:
        site.cluster.run(["kill", "-9", site.pid()])
        process.wait()
        assert site.status()["state"] == "interrupted" and len(site.jobs()) == 1
        resumed = site.cluster.popen(
            site.command("tune", "resume", "1"), user="reprise", env=site.environment, log=f"{site.home}/resumed"
        )
        wait_for("the resumption", lambda: site.status()["state"] == "running", 60)
    assert resumed.wait(120) == 0
    assert site.status()["states"] == {"complete": 7} and len(site.runs()) == 7 + 1, "the proof adds one run"
    assert site.jobs() == []


def test_a_job_that_ends_while_its_coordinator_is_dead_is_not_run_again(site: Site) -> None:
    with campaign_in_run(site, 4) as process:
        site.cluster.run(["kill", "-9", site.pid()])
        process.wait()
    wait_for("the job's end", lambda: not site.jobs(), 60)
    site.reprise("tune", "resume", "1")
    assert site.status()["states"] == {"complete": 7} and len(site.runs()) == 7 + 1


def test_a_job_cancelled_by_hand_is_tried_again(site: Site) -> None:
    with campaign_in_run(site, 4) as process:
        site.cluster.run(["scancel", site.jobs()[0].split()[0]])
        assert process.wait(120) == 0
    assert site.status()["states"] == {"complete": 7, "cancelled": 1}


def test_a_job_whose_node_fails_is_tried_again(site: Site) -> None:
    with campaign_in_run(site, 4) as process:
        job = site.jobs()[0].split()[0]
        node = site.cluster.run(["squeue", "--noheader", f"--job={job}", "--format=%N"]).stdout.strip()
        site.cluster.run(["scontrol", "update", f"node={node}", "state=down", "reason=test"])
        try:
            assert process.wait(120) == 0
        finally:
            # unchecked, because the node may have resumed by itself
            site.cluster.run(["scontrol", "update", f"node={node}", "state=resume"], check=False)
    assert site.status()["states"] == {"complete": 7, "cancelled": 1}
    wait_for("all nodes", lambda: site.cluster.run(["sinfo", "-ho%t", "-pmain"]).stdout.split() == ["idle"], 120)


def test_a_requeued_job_runs_its_trial_again_and_has_one_result(site: Site) -> None:
    """The site allows requeueing by the option `--requeue`; without it, Slurm refuses to requeue a trial's job."""
    with campaign_in_run(site, 3, options=["--requeue"]) as process:
        job = site.jobs()[0].split()[0]
        site.cluster.run(["scontrol", "requeue", job])
        waits = ["squeue", "--noheader", f"--job={job}", "--format=%T %r"]
        wait_for("the queue", lambda: site.cluster.run(waits).stdout.strip() == "PENDING BeginTime", 60)
        time.sleep(1.5)  # slurmd does not start a job in the second in which it killed the same job
        # without a new start time, a requeued job would wait for two minutes
        site.cluster.run(["scontrol", "update", f"job={job}", "starttime=now"])
        assert process.wait(120) == 0
    assert site.status()["states"] == {"complete": 7} and site.status()["record"] == 1
    assert len(site.runs()) == 7 + 1 + 1, "the interrupted run and the proof are additional runs"


def test_a_preempted_job_is_tried_again(site: Site) -> None:
    with campaign_in_run(site, 3, partition="scavenge") as process:
        urgent = ["sbatch", "--partition=main", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 1"]
        site.cluster.run(urgent, user="alice")
        assert process.wait(120) == 0
    assert site.status()["states"] == {"complete": 7, "preempted": 1} and site.status()["record"] == 1
    assert len(site.runs()) == 7 + 1 + 1


def test_a_job_at_its_time_limit_is_a_trial_that_timed_out(site: Site) -> None:
    """The job reaches Slurm's time limit, which slurmctld checks twice a minute, before the trial's longer limit."""
    with campaign_in_run(site, 3, timeout_s=300) as process:
        job = site.jobs()[0].split()[0]
        site.cluster.run(["scontrol", "update", f"job={job}", "endtime=now+1"])
        assert process.wait(120) == 0
    assert site.cluster.job(int(job))["JobState"] == "TIMEOUT"
    assert site.status()["states"] == {"complete": 6, "timeout": 1} and site.status()["record"] == 1
    assert len(site.runs()) == 7 + 1, "a trial that timed out is not repeated"


def test_a_restart_of_slurmctld_in_the_middle_of_a_job_fails_no_trial(site: Site) -> None:
    with campaign_in_run(site, 4) as process:
        pid = site.cluster.path("/run/slurmctld.pid").read_text().strip()
        site.cluster.run(["kill", pid])
        wait_for("slurmctld's end", lambda: not site.cluster.path(f"/proc/{pid}").exists(), 20)
        site.cluster.popen(["slurmctld", "-D"], log="/var/log/slurm/slurmctld-again.out")
    assert process.wait(120) == 0
    assert site.status()["states"] == {"complete": 7} and len(site.runs()) == 7 + 1


def test_jobs_run_at_once_on_the_nodes_that_are_there(site: Site) -> None:
    """Two runs of the search wait for each other. They would wait forever if they did not run at the same time."""
    both = f"[ -e {site.home}/run-2 ] && [ -e {site.home}/run-3 ]"
    meet = f"[ $n != 2 ] && [ $n != 3 ] || {{ touch {site.home}/run-$n; until {both}; do sleep 0.1; done; }}"
    file = site.campaign("slurm", {**SCRIPT, "before": meet}, parallel=2, max_trial_s=60)
    site.reprise("tune", "run", file, "--yes")
    assert site.status()["states"] == {"complete": 7}


def test_a_campaign_is_stopped_from_another_shell_with_its_jobs(site: Site) -> None:
    with campaign_in_run(site, 3) as process:
        site.reprise("tune", "stop", "1")
        assert process.wait(60) == 130
        wait_for("the job's end", lambda: not site.jobs(), 60)
        assert site.status()["state"] == "stopped"
    site.reprise("tune", "resume", "1")
    assert site.status()["states"] == {"complete": 7}


def test_trials_run_within_a_reservation(site: Site) -> None:
    free = [
        "ReservationName=weekend",
        "starttime=now",
        "duration=60",
        "users=reprise",
        "nodecnt=1",
        "flags=ignore_jobs",
    ]
    site.cluster.run(["scontrol", "create", *free])
    try:
        say = 'scontrol show job "$SLURM_JOB_ID" | grep -o "Reservation=.*"'
        file = site.campaign("slurm", {**SCRIPT, "before": say}, reservation="weekend")
        site.reprise("tune", "run", file, "--yes")
    finally:
        site.cluster.run(["scontrol", "delete", "ReservationName=weekend"])
    outputs = [path.read_text() for path in site.cluster.path(f"{site.home}/work").glob("*/one/*/stdout")]
    assert len(outputs) == 7 and all("Reservation=weekend\n" in text for text in outputs)
    assert site.status()["states"] == {"complete": 7}


def test_a_plan_is_what_sbatch_takes(site: Site) -> None:
    """The plan can be submitted unchanged, as sbatch confirms without submitting anything."""
    file = site.campaign("slurm", {"script": True, "header": HEADER})
    shown = site.reprise("tune", "plan", file).stdout
    script = shown[shown.index("#!/bin/bash") : shown.index("\n==> ")]
    path = site.write("shown.sh", script)
    done = site.cluster.run(["sbatch", "--test-only", path], user="reprise")
    assert "to start at" in done.stderr and "using 2 processors on nodes" in done.stderr
    assert site.jobs() == [] and "at most 7 trials" in shown.splitlines()[-1]
