# SPDX-License-Identifier: Apache-2.0
"""Test two matchers on a real Slurm: one is killed while several users submit, and every job gets its settings."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.cluster.test_transport import HOST, PORT, SCRIPT, TUNE
from tests.unit.matcher_daemon import RULES
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
SECOND_PORT = PORT + 1
JOBS = 36
AT_ONCE = 6
RECORDS = "/var/lib/reprise/published.db"
REPLICA = "/etc/reprise/replica.toml"


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=2) as machine:
        install(machine)
        uid = machine.uid("reprise")
        both = f"endpoint=tcp:{HOST}:{PORT} endpoint=tcp:{HOST}:{SECOND_PORT}"
        machine.write(PLUGSTACK, f"optional spank_reprise.so {both} matcher_uid={uid} deadline_ms=1000\n")
        config = machine.path("/etc/reprise/reprise.toml")
        text = (
            config.read_text()
            .replace("releases = []", 'releases = ["4.1.4"]', 1)
            .replace("uid = 0\n", f"uid = {uid}\n")
        )
        config.write_text(
            text.replace('listen = ""', f'listen = "{HOST}:{PORT}"').replace("#publish = ", f'publish = "{RECORDS}" # ')
        )
        second = text.replace('listen = ""', f'listen = "{HOST}:{SECOND_PORT}"')
        second = second.replace("/run/reprise/matcher.sock", "/run/reprise/replica.sock")
        second = second.replace("/var/lib/reprise/reprise.db", "/var/lib/reprise/replica.db")
        second = second.replace("#records = ", f'records = "{RECORDS}" # ')
        machine.write(REPLICA, second.replace("primary = []", f'primary = ["tcp:{HOST}:{PORT}"]'))
        machine.run(["reprise", "--config", REPLICA, "db", "init"], user="reprise")
        machine.run([*PYTHON, "-c", TUNE], user="reprise", cwd=SOURCE)
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/home/alice/job.sh", SCRIPT.replace("lattice.out", "lattice-%j.out"), user="alice")
        yield machine


def told(cluster: VirtualCluster, job: int) -> dict[str, Any]:
    done = cluster.run(["reprise", "match", "explain", str(job), "--json"], user="reprise", check=False)
    return dict(json.loads(done.stdout)) if done.stdout else {"decisions": [], "outcomes": []}


def submit(cluster: VirtualCluster) -> tuple[int, float]:
    """Submit a job; return the job's id and the time at which the submission began."""
    began = time.time()
    return cluster.submit("job.sh"), began


def assert_had_its_settings(cluster: VirtualCluster, job: int) -> float:
    """Check that the job had its settings, and return the time of the job's end in seconds since the epoch."""
    ended = cluster.wait_job(job)
    assert ended.state == "COMPLETED", ended
    assert dict(line.split("=", 1) for line in ended.output.splitlines()) == RULES, f"job {job}"
    told = cluster.run(["date", "--date", cluster.job(job)["EndTime"], "+%s"]).stdout
    return float(told)


def assert_told_once(cluster: VirtualCluster, job: int) -> None:
    wait_for(f"the outcome of job {job}", lambda: told(cluster, job)["outcomes"])
    assert [one["verdict"] for one in told(cluster, job)["decisions"]] == ["apply"], f"job {job}"


def test_the_first_matcher_is_killed_while_users_submit(cluster: VirtualCluster) -> None:
    """The matcher writes messages to disk shortly after they arrive, so a kill loses only the newest messages."""
    primary, replica = Daemon(cluster), Daemon(cluster, REPLICA)
    with replica:
        primary.start()
        replica.log_contains("event=copy-taken")
        wait_for("the record at the replica", lambda: "event=records count=1 " in replica.log())
        with ThreadPoolExecutor(AT_ONCE) as shells:
            long_before = [job for job, _ in shells.map(submit, [cluster] * AT_ONCE)]
            for job in long_before:
                assert_had_its_settings(cluster, job)
                assert_told_once(cluster, job)
            submitted = [shells.submit(submit, cluster) for _ in range(JOBS)]
            wait_for("a third of them", lambda: primary.log().count("event=decision ") >= AT_ONCE + JOBS // 3)
            primary.kill()
            killed = time.time()
            began = dict(one.result() for one in submitted)
        ended = {job: assert_had_its_settings(cluster, job) for job in began}
        after = [job for job, at in began.items() if at > killed]
        assert after, "all jobs were submitted before the first matcher was killed"
        assert "event=decision " in replica.log(), "the second matcher must have made decisions"
        with primary:
            primary.log_contains("event=forwarded", 30)
            for job in (*long_before, *after):
                assert_told_once(cluster, job)
            for job in (job for job, at in ended.items() if at > killed):
                wait_for(f"the outcome of job {job}", lambda job=job: told(cluster, job)["outcomes"])  # type: ignore[misc]
            for job in began:
                assert [one["verdict"] for one in told(cluster, job)["decisions"]] in ([], ["apply"]), f"job {job}"
