# SPDX-License-Identifier: Apache-2.0
"""Test that login and compute nodes reach the same daemon over TCP with munge, on a real Slurm."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.product import PLUGSTACK, SOURCE, Daemon, install
from tests.cluster.spec import PYTHON
from tests.unit.matcher_daemon import RULES
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
HOST, PORT = "10.99.0.254", 7817
ABSENT = "unix:/run/reprise/absent.sock"
SHOW = "/usr/bin/env | /bin/sed -n /^OMPI_MCA_coll/p"
SCRIPT = f"""#!/bin/bash
#SBATCH --job-name=lattice
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=lattice.out
[ "$1" ] && mpirun /home/alice/bin/lattice --steps 200 --size 64
{SHOW}
"""
# Sends the contents of a file as a frame, and prints the size of the answer in bytes.
SEND = f"""
import socket, sys
body = open(sys.argv[1], "rb").read().strip()
with socket.create_connection(("{HOST}", {PORT}), 10) as connection:
    connection.sendall(len(body).to_bytes(4, "big") + body)
    print(len(connection.makefile("rb").read()))
"""
# Adds a record for a job with the script SCRIPT.
TUNE = f"""
from pathlib import Path
from reprise.database import Database
from tests.unit.matcher_daemon import job, record
context = dict(cluster="reprise", nodes=2, tasks_per_node=1, openmpi=["4.1.4"])
with Database.open(Path("/var/lib/reprise/reprise.db")) as database:
    database.add_record(record(metadata=job("alice", {SCRIPT!r}).to_json(), context=context))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=2) as machine:
        install(machine)
        line = f"endpoint={ABSENT} endpoint=tcp:{HOST}:{PORT} matcher_uid={machine.uid('reprise')} deadline_ms=1000"
        machine.write(PLUGSTACK, f"optional spank_reprise.so {line}\n")
        config = machine.path("/etc/reprise/reprise.toml")
        text = config.read_text().replace('listen = ""', f'listen = "{HOST}:{PORT}"')
        config.write_text(text.replace("releases = []", 'releases = ["4.1.4"]'))
        machine.run([*PYTHON, "-c", TUNE], user="reprise", cwd=SOURCE)
        machine.write(RULES["OMPI_MCA_coll_tuned_dynamic_rules_filename"], "0\n")
        machine.write("/home/alice/job.sh", SCRIPT, user="alice")
        machine.write("/home/alice/send.py", SEND, user="alice")
        yield machine


@pytest.fixture
def daemon(cluster: VirtualCluster) -> Iterator[Daemon]:
    with Daemon(cluster) as running:
        yield running
    print(running.log())  # noqa: T201 (pytest shows it if the test failed)


def decision(cluster: VirtualCluster, job_id: int) -> dict[str, Any]:
    """Wait until the job's decision is in the database, and return it; the job must have only one decision."""

    def told() -> list[dict[str, Any]]:
        done = cluster.run(["reprise", "match", "explain", str(job_id), "--json"], user="reprise", check=False)
        found: list[dict[str, Any]] = json.loads(done.stdout)["decisions"] if done.stdout else []
        return found

    (only,) = wait_for(f"the decision of job {job_id}", told)
    return only


def test_the_login_node_asks_and_the_compute_node_reports_over_the_network(
    cluster: VirtualCluster, daemon: Daemon
) -> None:
    end = cluster.wait_job(cluster.submit("job.sh"))
    assert dict(line.split("=", 1) for line in end.output.splitlines()) == RULES
    made = decision(cluster, end.job_id)
    assert (made["user"], made["uid"], made["point"]) == ("alice", cluster.uid("alice"), "submit")
    daemon.log_contains(f"event=ended job={end.job_id} uid={cluster.uid('alice')}")


def test_a_compute_node_asks_when_the_job_starts(cluster: VirtualCluster, daemon: Daemon) -> None:
    done = cluster.run(["sbatch", "--parsable"], user="alice", stdin=SCRIPT)
    end = cluster.wait_job(int(done.stdout))
    assert dict(line.split("=", 1) for line in end.output.splitlines()) == RULES
    assert decision(cluster, end.job_id)["point"] == "start"


@pytest.mark.parametrize("argv", [["srun", "-N2", "hostname"], ["salloc", "hostname"]], ids=lambda argv: argv[0])
def test_srun_and_salloc_ask_over_the_network(cluster: VirtualCluster, daemon: Daemon, argv: list[str]) -> None:
    done = cluster.run([argv[0], "-Q", "--reprise=explain", *argv[1:]], user="bob")
    (line,) = [text for text in done.stderr.splitlines() if "reprise: " in text]
    assert "reprise: none: " in line
    assert done.stdout.split()


def test_a_partition_that_is_slurms_default_is_denied_when_the_job_starts(
    cluster: VirtualCluster, daemon: Daemon
) -> None:
    config = cluster.path("/etc/reprise/reprise.toml")
    before = config.read_text()
    config.write_text(before.replace("deny_partitions = []", 'deny_partitions = ["main"]'))
    try:
        daemon.signal("HUP")
        daemon.log_contains("event=reloaded")
        denied = cluster.wait_job(cluster.submit("job.sh"))
        served = cluster.wait_job(cluster.submit("job.sh", "--partition=debug"))
    finally:
        config.write_text(before)
        daemon.signal("HUP")
    assert denied.output == ""
    assert served.output.count("\n") == len(RULES)
    assert decision(cluster, denied.job_id)["reason"] == "the site gives nothing to jobs of partition main"


def test_a_forged_or_replayed_credential_gets_nothing(cluster: VirtualCluster, daemon: Daemon) -> None:
    ping = json.dumps({"v": 1, "kind": "ping"})

    def answered(file: str, *, user: str = "alice") -> int:
        done = cluster.run([*PYTHON, "/home/alice/send.py", file], user=user, node="node1")
        return int(done.stdout)

    make = f"printf '%016d%s' 0 '{ping}' | munge --restrict-uid={cluster.uid('reprise')} > kept"
    cluster.run(["sh", "-c", make], user="alice", node="node1")
    assert answered("kept") > 0
    assert answered("kept") == 0
    assert answered("/home/alice/kept", user="bob") == 0, "bob sent alice's credential"
    cluster.write("/home/alice/forged", "MUNGE:AwQDAACwsNCFuXcxCB:", user="alice")
    assert answered("forged") == 0
    daemon.log_contains("Replayed credential")


def test_the_doctor_on_a_compute_node_finds_the_matcher(cluster: VirtualCluster, daemon: Daemon) -> None:
    done = cluster.run(["reprise", "doctor", "--json"], node="node0", check=False)
    found = {f["text"]: f["level"] for f in json.loads(done.stdout)["findings"] if f["check"] == "daemon"}
    assert found.pop(f"answers on tcp:{HOST}:{PORT}, knows 1 record") == "ok"
    assert list(found.values()) == ["warning"]
    cluster.write(PLUGSTACK, cluster.path(PLUGSTACK).read_text().replace("deadline_ms=1000", "deadline=1000"))
    try:
        done = cluster.run(["reprise", "doctor"], node="node0", check=False)
    finally:
        cluster.write(PLUGSTACK, cluster.path(PLUGSTACK).read_text().replace("deadline=1000", "deadline_ms=1000"))
    assert "the plugin ignores 'deadline=1000': unknown argument" in done.stdout


def test_a_user_on_a_node_without_the_socket_is_told_why(cluster: VirtualCluster, daemon: Daemon) -> None:
    uid = cluster.uid("reprise")
    text = (
        f'[matcher]\nendpoints = ["{ABSENT}", "tcp:{HOST}:{PORT}"]\nuid = {uid}\n[database]\npath = "/nowhere/r.db"\n'
    )
    cluster.write("/etc/reprise/node.toml", text)
    end = cluster.wait_job(cluster.submit("job.sh"))
    decision(cluster, end.job_id)

    def told(user: str) -> subprocess.CompletedProcess[str]:
        argv = ["reprise", "--config", "/etc/reprise/node.toml", "match", "explain", str(end.job_id)]
        return cluster.run(argv, user=user, node="node1", check=False)

    assert "apply" in told("alice").stdout
    assert (told("bob").returncode, told("bob").stdout) == (3, "")
    daemon.stop()
    silent = told("alice")
    assert silent.returncode == 4
    assert all(where in silent.stderr for where in ("/nowhere/r.db", ABSENT.removeprefix("unix:"), f"{HOST}:{PORT}"))


def test_without_a_daemon_jobs_run_as_ever(cluster: VirtualCluster) -> None:
    end = cluster.wait_job(cluster.submit("job.sh"))
    assert (end.state, end.output) == ("COMPLETED", "")
