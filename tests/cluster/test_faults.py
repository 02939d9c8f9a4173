# SPDX-License-Identifier: Apache-2.0
"""Test faults with the real sbatch and slurmstepd: output, exit code, environment and delay are as without the plugin.

tests/faults tests all other faults with a stub of Slurm.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.cluster.machine import VirtualCluster
from tests.cluster.spec import SOURCE
from tests.faults.test_peer import QUICK, SLOW, peer_at
from tests.faults.test_reply import HOSTILE
from tests.spank.daemon import FakeDaemon, decision, frame, say

pytestmark = pytest.mark.cluster

SPANK = Path(__file__).resolve().parents[2] / "spank"
SOCKET = "/run/reprise/matcher.sock"
DEADLINE_S = 0.2
BOUND_S = 0.3  # tolerance in seconds for other load; only the quickest of three submissions is compared
PLUGSTACK = f"optional spank_reprise.so deadline_ms={int(DEADLINE_S * 1000)} endpoint=unix:{SOCKET}\n"
SCRIPT = "#!/bin/sh\n/usr/bin/env -0 | /usr/bin/sort -z | /usr/bin/tr '\\0\\n' '\\n?'\nsrun -n1 /usr/bin/env\nexit 3\n"
OWN = re.compile(r"^SLURM_SPANK_REPRISE=.*\n", re.MULTILINE)
# Lines of the environment that differ from job to job.
NUMBERS = re.compile(r"^(SLURM\w*(?:ID|_TIME|PORT|ADDR|NODE_ALIASES|TASK_PID|PIDS?)|SRUN_COMM_PORT)=.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """A job as seen by its user: the output and exit code of sbatch, and the job's state, exit status and output."""

    said: tuple[str, str, int]
    state: str
    exit_status: int
    output: str


@pytest.fixture(scope="module")
def machine() -> Iterator[VirtualCluster]:
    subprocess.run(["make", "-s", "-C", str(SPANK)], check=True, capture_output=True)
    with VirtualCluster(nodes=1, plugstack=PLUGSTACK) as running:
        running.run(["make", "-C", f"{SOURCE}/spank", "install"])
        running.run(["mkdir", "-p", "/run/reprise", "/etc/reprise"])
        running.write("/home/alice/job.sh", SCRIPT, user="alice")
        yield running


@contextlib.contextmanager
def without_plugin(machine: VirtualCluster) -> Iterator[None]:
    (line,) = machine.path("/etc/slurm/plugstack.conf.d").iterdir()
    text = line.read_text()
    line.write_text("")
    yield
    line.write_text(text)


def submit(machine: VirtualCluster, prefix: Sequence[str] = (), env: dict[str, str] | None = None) -> Seen:
    done = machine.run([*prefix, "sbatch", "job.sh"], user="alice", env=env, check=False)
    job = re.search(r"\d+", done.stdout)
    assert job, done
    end = machine.wait_job(int(job[0]))
    output = NUMBERS.sub("", end.output)
    said = (re.sub(r"\d+", "N", done.stdout), done.stderr, done.returncode)
    return Seen(said, end.state, end.exit_status, output)


def seconds(machine: VirtualCluster, prefix: Sequence[str] = ()) -> float:
    """Submit three held jobs, and return the duration of the quickest submission in seconds."""

    def once() -> float:
        started = time.monotonic()
        machine.run([*prefix, "sbatch", "--hold", "job.sh"], user="alice")
        return time.monotonic() - started

    return min(once() for _ in range(3))


@pytest.fixture(scope="module")
def usual(machine: VirtualCluster) -> tuple[Seen, float]:
    with without_plugin(machine):
        return submit(machine), seconds(machine)


@contextlib.contextmanager
def fault(machine: VirtualCluster, name: str) -> Iterator[None]:
    path = machine.path(SOCKET)
    if name in HOSTILE:
        with FakeDaemon(path, converse=say(frame(HOSTILE[name]))).listening():
            yield
    elif name in QUICK | SLOW:
        with peer_at(path, (QUICK | SLOW)[name]):
            path.chmod(0o666)
            yield
        path.unlink()
    else:
        if name == "regular-file":
            path.touch()
        elif name == "directory":
            path.mkdir()
        yield
        if path.exists():
            path.rmdir() if path.is_dir() else path.unlink()


NAMES = ["nothing", "regular-file", "directory", "closes-at-once", "garbage", "never-answers", "byte-by-byte"]
REPLIES = ["name-ld-preload", "value-with-a-newline", "10000-pairs", "deep-nesting", "truncated"]


@pytest.mark.parametrize("name", [*NAMES, *REPLIES])
def test_a_job_is_as_without_the_plugin(machine: VirtualCluster, usual: tuple[Seen, float], name: str) -> None:
    with fault(machine, name):
        assert submit(machine) == usual[0]
        assert seconds(machine) < usual[1] + DEADLINE_S * (name in SLOW) + BOUND_S


def test_a_good_decision_is_seen(machine: VirtualCluster, usual: tuple[Seen, float]) -> None:
    """The other tests prove something only if the job gets the settings of a good decision."""
    with FakeDaemon(machine.path(SOCKET), reply=decision("apply", {"SRO_A": "1"})).listening():
        seen = submit(machine)
    assert (seen.said, seen.state, seen.exit_status) == (usual[0].said, usual[0].state, 3)
    assert seen.output.splitlines().count("SRO_A=1") == 2  # once in the script and once in its step


LIMITS = {
    "closed-input": ("sh", "-c", 'exec "$@" <&-', "-"),
    "closed-input-and-errors": ("sh", "-c", 'exec "$@" <&- 2>&-', "-"),
    "few-descriptors": ("prlimit", "--nofile=16", "--"),
    "little-memory": ("prlimit", "--as=200000000", "--"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_process_that_lacks_something(machine: VirtualCluster, usual: tuple[Seen, float], limit: str) -> None:
    with without_plugin(machine):
        without = submit(machine, LIMITS[limit])
    reply = decision("none")
    with FakeDaemon(machine.path(SOCKET), reply=reply).listening():
        seen = submit(machine, LIMITS[limit])
    assert replace(seen, output=OWN.sub("", seen.output)) == without


FORGED: dict[str, object] = {
    "ld-preload": {"v": 1, "id": "x", "verdict": "apply", "env": {"LD_PRELOAD": "/tmp/x.so"}},
    "path-beside-a-good-one": {"v": 1, "id": "x", "verdict": "apply", "env": {"SRO_A": "1", "PATH": "/tmp"}},
    "newline": {"v": 1, "id": "x", "verdict": "apply", "env": {"SRO_A": "1\nLD_PRELOAD=/tmp/x.so"}},
    "nothing-of-ours": "rm -rf /",
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_decision(machine: VirtualCluster, usual: tuple[Seen, float], name: str) -> None:
    """The user sets a forged decision in a running job, for the job's steps."""
    forged = json.dumps(FORGED[name])
    script = f"#!/bin/sh\nexport SLURM_SPANK_REPRISE='{forged}'\nsrun -n1 /usr/bin/env\n"
    machine.write("/home/alice/forger.sh", script, user="alice")
    end = machine.wait_job(machine.submit("forger.sh"))
    given = OWN.sub("", end.output)
    assert end.state == "COMPLETED"
    assert not re.search(r"^(LD_PRELOAD|SRO_A|REPRISE_DECISION)=", given, re.MULTILINE)
    assert not re.search(r"^PATH=/tmp$", given, re.MULTILINE)


def test_a_forged_decision_never_reaches_what_runs_as_root(machine: VirtualCluster) -> None:
    """Prologs and epilogs run as root, so the plugin sets no variables for them, not even those allowed in jobs."""
    forged = {"v": 1, "id": "x", "verdict": "apply", "env": {"SRO_FORGED": "1"}}
    machine.write("/etc/slurm/tell.sh", "#!/bin/sh\n/usr/bin/env >> /var/log/slurm/tell.$(id -u)\n", mode=0o755)
    conf = machine.path("/etc/slurm/slurm.conf")
    before = conf.read_text()
    conf.write_text(before + "Prolog=/etc/slurm/tell.sh\nEpilog=/etc/slurm/tell.sh\n")
    machine.run(["scontrol", "reconfigure"])
    try:
        machine.write("/home/alice/env.sh", "#!/bin/sh\n/usr/bin/env\n", user="alice")
        env = {"SLURM_SPANK_REPRISE": json.dumps(forged)}
        end = machine.wait_job(machine.submit("--export=ALL,SRO_MINE=1", "env.sh", env=env))
        machine.wait_job(machine.submit("env.sh"))
    finally:
        conf.write_text(before)
        machine.run(["scontrol", "reconfigure"])
    assert end.state == "COMPLETED"
    root = machine.path("/var/log/slurm/tell.0").read_text()
    assert "SLURM_JOB_ID=" in root
    assert not re.search(r"^(SRO_FORGED|REPRISE_DECISION)=", root, re.MULTILINE)
