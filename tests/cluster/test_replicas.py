# SPDX-License-Identifier: Apache-2.0
"""Two matchers on a real Slurm: the first is killed while several submit at once, and no job misses its settings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOURCE, Daemon, install
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
            config.read_text().replace("releases = []", 'releases = ["4.1.4"]').replace("uid = 0\n", f"uid = {uid}\n")
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
        machine.run([f"{SOURCE}/.venv/bin/python", "-c", TUNE], user="reprise", cwd=SOURCE)
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/home/alice/job.sh", SCRIPT.replace("lattice.out", "lattice-%j.out"), user="alice")
        yield machine


def told(cluster: VirtualCluster, job: int) -> dict[str, Any]:
    done = cluster.run(["reprise", "match", "explain", str(job), "--json"], user="reprise", check=False)
    return dict(json.loads(done.stdout)) if done.stdout else {"decisions": [], "outcomes": []}


def test_the_first_matcher_is_killed_while_users_submit(cluster: VirtualCluster) -> None:
    primary, replica = Daemon(cluster), Daemon(cluster, REPLICA)
    with replica:
        primary.start()
        replica.log_contains("event=copy-taken")
        wait_for("the record at the replica", lambda: "event=records count=1 " in replica.log())
        with ThreadPoolExecutor(AT_ONCE) as shells:
            submitted = [shells.submit(cluster.submit, "job.sh") for _ in range(JOBS)]
            wait_for("a third of the decisions", lambda: primary.log().count("event=decision ") >= JOBS // 3)
            primary.kill()
            assert not all(one.done() for one in submitted), "they were still at it"
            jobs = [one.result() for one in submitted]
        for job in jobs:
            assert cluster.wait_job(job).state == "COMPLETED"
            output = cluster.path(f"/home/alice/lattice-{job}.out").read_text()
            assert dict(line.split("=", 1) for line in output.splitlines()) == RULES
        assert "event=decision " in replica.log(), "the second was asked"
        with primary:
            primary.log_contains("event=forwarded", 30)
            for job in jobs:
                wait_for(f"all of job {job} at the first", lambda job=job: told(cluster, job)["outcomes"])  # type: ignore[misc]
            verdicts = [[one["verdict"] for one in told(cluster, job)["decisions"]] for job in jobs]
            lost = verdicts.count([])  # decisions are written a moment after they are told, and it was killed
            assert lost <= AT_ONCE and verdicts.count(["apply"]) == JOBS - lost, verdicts
