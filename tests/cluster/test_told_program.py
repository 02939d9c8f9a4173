# SPDX-License-Identifier: Apache-2.0
"""Test that a job reports the identity of a program that the matcher cannot read, so that the next job matches.

The program is in a home directory that other users cannot read. The tests use TCP with munge, on a real Slurm.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.cluster.test_transport import ABSENT, HOST, PORT, SPANK, decision
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

CLOSED = "/home/alice/closed"
PROGRAM = f"{CLOSED}/a.out"
KNOWN = "/usr/bin/env"
"""The file that is copied as the program. The record is for a job with this file at another path and under another
name."""
SCRIPT = f"#!/bin/sh\n#SBATCH --job-name=third\n{PROGRAM} TELL=yes\n"
TUNE = f"""
import dataclasses, time
from pathlib import Path
from reprise.database import Database
from reprise.matcher.identity.identify import Identifier
from tests.unit.matcher_daemon import job, record
script = "#!/bin/sh\\n#SBATCH --job-name=lattice\\n#SBATCH --nodes=1\\n/opt/apps/a.out\\n"
who = Identifier().identify("{KNOWN}", time.monotonic() + 60)
assert who.contents and who.imports
known = dataclasses.replace(job("alice", script), **vars(who))
context = dict(cluster="reprise", nodes=1, tasks_per_node=1)
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    database.add_record(record(metadata=known.to_json(), context=context, environment=dict(SRO_SIZE="4"), conflicts=[]))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=1) as machine:
        install(machine)
        line = f"endpoint={ABSENT} endpoint=tcp:{HOST}:{PORT} matcher_uid={machine.uid('reprise')} deadline_ms=1000"
        machine.write(PLUGSTACK, f"optional spank_reprise.so {line}\n")
        config = machine.path("/etc/reprise/reprise.toml")
        told = config.read_text().replace('listen = ""', f'listen = "{HOST}:{PORT}"')
        config.write_text(told)
        machine.run([*PYTHON, "-c", TUNE], user="reprise", cwd=SOURCE)
        machine.write("/home/alice/job.sh", SCRIPT, user="alice")
        machine.run(["install", "-D", KNOWN, PROGRAM], user="alice")
        machine.run(["chmod", "700", CLOSED], user="alice")
        yield machine


def of_next_job(cluster: VirtualCluster) -> dict[str, Any]:
    end = cluster.wait_job(cluster.submit("job.sh"))
    assert (end.state, "TELL=yes" in end.output) == ("COMPLETED", True), end.output
    return decision(cluster, end.job_id)


def test_the_next_run_of_a_program_is_recognised_by_what_the_first_has_told(cluster: VirtualCluster) -> None:
    with Daemon(cluster) as daemon:
        first = of_next_job(cluster)
        assert first["verdict"] == "none", "the matcher cannot read the program"
        daemon.log_contains(f"event=told decision={first['id']} uid={cluster.uid('alice')}")
    with Daemon(cluster):  # jobs get no settings until the new daemon has read the identity from the database
        wait_for("the answer", lambda: of_next_job(cluster)["verdict"] == "apply", 60)
        second = of_next_job(cluster)
        assert second["injected"] == {"SRO_SIZE": "4"}
        (identity,) = [field for field in second["fields"] if field["name"] == "program's file"]
        assert {part["name"]: part["similarity"] for part in identity["parts"]}["contents"] == 1.0
        done = cluster.run(["reprise", "match", "explain", second["id"]], user="alice")
        assert "same build" in done.stdout


def test_where_the_site_does_not_want_it_no_job_tells_anything(cluster: VirtualCluster) -> None:
    cluster.path(PLUGSTACK).write_text(cluster.path(PLUGSTACK).read_text().rstrip() + " identity=off\n")
    cluster.run(["cp", PROGRAM, f"{CLOSED}/b.out"], user="alice")
    cluster.write("/home/alice/job.sh", SCRIPT.replace("a.out", "b.out"), user="alice")
    with Daemon(cluster) as daemon:
        verdicts = [of_next_job(cluster)["verdict"] for _ in range(2)]
        assert verdicts == ["none", "none"] and "event=told" not in daemon.log().rpartition("event=serving ")[2]
