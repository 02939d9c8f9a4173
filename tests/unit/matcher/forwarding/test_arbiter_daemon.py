# SPDX-License-Identifier: Apache-2.0
"""Test the arbiter's process with a made-up squeue and real sockets: it acts in time, and no crash loses a map."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from reprise.database import Database
from tests.places import ROOT
from tests.unit.database_values import decision, outcome
from tests.unit.matcher.forwarding.forwarding_site import ALICE, STEEP
from tests.unit.matcher.forwarding.forwarding_site import Site as Values
from tests.waiting import wait_for

REACTION_S = 1.0


class Host:
    """A host with a database, a made-up squeue, forwarders that are sockets, and arbiters that are processes."""

    def __init__(self, directory: Path, forwarders: int = 4) -> None:
        self.directory = directory
        self.sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(forwarders)]
        self.addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in self.sockets]
        self.maps = directory / "maps"
        self.queue = directory / "queue"
        self.database = Database.open(directory / "reprise.db", create=True)
        self.processes: list[subprocess.Popen[str]] = []
        self.queue.write_text("")
        (directory / "bin").mkdir()
        (directory / "bin/squeue").write_text(f"#!/bin/sh\nexec cat {self.queue}\n")
        (directory / "bin/squeue").chmod(0o755)
        self.configure()

    def configure(self, more: str = "") -> None:
        listed = ", ".join(f'"{address}"' for address in self.addresses)
        (self.directory / "reprise.toml").write_text(
            f'[site]\ncluster = "c"\nnodes = 64\n[database]\npath = "{self.directory}/reprise.db"\n[forwarding]\n'
            f'forwarders = [{listed}]\nmaps = "{self.maps}"\nsettle_s = 0\ncheck_s = 0.5\nqueue_s = 1\n{more}'
        )

    def arbiter(self, *, wait: bool = True) -> subprocess.Popen[str]:
        log = (self.directory / "log").open("a")
        with log:
            made = subprocess.Popen(
                [sys.executable, "-m", "reprise", "--config", str(self.directory / "reprise.toml"), "arbiter"],
                stderr=log,
                text=True,
                env={**os.environ, "PATH": f"{self.directory}/bin:/usr/bin:/bin"},
            )
        self.processes.append(made)
        if wait:
            before = self.log().count("event=shared-out")
            wait_for("a decision", lambda: made.poll() is not None or self.log().count("event=shared-out") > before)
        return made

    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text() if path.exists() else ""

    def start(self, job: int) -> None:
        """Start a job: Slurm knows it before its start is reported."""
        lines = [*self.queue.read_text().splitlines(), f"{job} {ALICE} 4 32 RUNNING"]
        self._set_queue(lines)
        values = Values.__new__(Values)
        values.users = self.database
        record = values.record(STEEP)
        self.database.add_decision(decision(f"d{job}", verdict="apply", record_id=record))
        self.database.report_start(outcome(time.time(), job_id=job, decision_id=f"d{job}"))

    def end(self, job: int, *, reported: bool = True) -> None:
        self._set_queue([line for line in self.queue.read_text().splitlines() if not line.startswith(f"{job} ")])
        if reported:
            (found,) = self.database.outcomes_of_job("c", job)
            now = time.time()
            self.database.report_end(
                outcome(found.started_at, job_id=job, decision_id=f"d{job}", ended_at=now, elapsed_s=1.0, exit_status=0)
            )

    def _set_queue(self, lines: list[str]) -> None:
        new = self.directory / "queue.new"
        new.write_text("".join(f"{line}\n" for line in lines))
        new.replace(self.queue)

    def numbers(self) -> dict[int, int]:
        """Return the number of forwarders in each map; fail if a map is not whole."""
        found = {}
        for path in self.maps.iterdir() if self.maps.exists() else ():
            if path.name.isdecimal():
                try:
                    first, *lines = path.read_text().split("\n")
                except FileNotFoundError:
                    continue
                assert first == "reprise-forwarders 1" and lines[-1] == ""
                assert set(lines[:-1]) <= set(self.addresses)
                found[int(path.name)] = len(lines) - 1
        return found

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for one in self.sockets:
            one.close()
        self.database.close()
        print(self.log())  # noqa: T201 (shown if a test fails)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_the_arbiter_follows_starts_and_ends_of_jobs_and_forwarders(host: Host) -> None:
    arbiter = host.arbiter()
    host.start(1)
    wait_for("a map", lambda: host.numbers() == {1: 4})
    host.start(2)
    wait_for("two maps", lambda: host.numbers() == {1: 2, 2: 2})
    host.end(1)
    wait_for("one map", lambda: host.numbers() == {2: 4})
    host.sockets[0].close()
    wait_for("three forwarders", lambda: host.numbers() == {2: 2})
    host.end(2, reported=False)
    wait_for("no map", lambda: host.numbers() == {})
    arbiter.send_signal(signal.SIGTERM)
    assert arbiter.wait(30) == 0
    log = host.log()
    assert "event=arbitrating" in log and "event=map job=1" in log and "event=forwarder-failed" in log
    assert "Traceback" not in log and "event=failed" not in log


@pytest.mark.slow
def test_a_start_is_followed_by_a_map_within_a_second(host: Host) -> None:
    host.arbiter()
    took = []
    for job in range(1, 6):
        begun = time.monotonic()
        host.start(job)
        wait_for("a map", partial(lambda one: one in host.numbers(), job))
        took.append(time.monotonic() - begun)
    assert min(took) < REACTION_S  # the others may have met a busy machine


@pytest.mark.slow
def test_a_second_arbiter_is_refused_and_the_first_goes_on(host: Host) -> None:
    first = host.arbiter()
    second = host.arbiter(wait=False)
    assert second.wait(60) == 1
    assert "another arbiter is running" in host.log()
    host.start(1)
    wait_for("a map", lambda: host.numbers() == {1: 4})
    assert first.poll() is None


@pytest.mark.slow
def test_arbiters_that_are_killed_at_random_leave_whole_maps_and_the_next_one_goes_on(host: Host) -> None:
    random = Random(1)  # noqa: S311 (no cryptography)
    for turn in range(6):
        arbiter = host.arbiter(wait=turn % 2 == 0)
        host.start(2 * turn + 1)
        if turn:
            host.end(2 * turn - 1)
        until = time.monotonic() + random.uniform(0.0, 1.5)
        while time.monotonic() < until:
            host.numbers()
        arbiter.kill()
        arbiter.wait()
        before = host.numbers()
        assert host.numbers() == before  # without an arbiter, jobs keep their maps
    host.arbiter()
    wait_for("the last job's map", lambda: host.numbers() == {11: 4})
    assert not [path for path in host.maps.iterdir() if path.name.endswith(".new")]
    with Database.open(host.database.path, read_only=True) as database:
        wait_for("its row", lambda: [share.job_id for share in database.shares_now("c")] == [11])


@pytest.mark.slow
def test_a_squeue_that_fails_changes_nothing(host: Host) -> None:
    host.start(1)
    host.arbiter()
    wait_for("a map", lambda: host.numbers() == {1: 4})
    (host.directory / "bin/squeue").write_text("#!/bin/sh\necho slurmctld is down >&2\nexit 1\n")
    wait_for("a warning", lambda: "event=queue-failed" in host.log())
    assert host.numbers() == {1: 4}
    assert "slurmctld is down" in host.log()


@pytest.mark.slow
def test_a_replaced_database_takes_no_map_away(host: Host) -> None:
    host.arbiter()
    host.start(1)
    wait_for("a map", lambda: host.numbers() == {1: 4})
    with Database.open(host.directory / "new.db", create=True):
        pass
    host.database.close()
    for suffix in ("", "-wal", "-shm"):
        (host.directory / f"reprise.db{suffix}").unlink(missing_ok=True)
    shutil.move(host.directory / "new.db", host.directory / "reprise.db")
    wait_for("the new file", lambda: "event=database-replaced" in host.log())
    host.database = Database.open(host.directory / "reprise.db")
    host.start(2)
    wait_for("the new job's map", lambda: 2 in host.numbers())
    assert host.numbers() == {1: 4, 2: 4}


@pytest.mark.slow
def test_the_arbiter_serves_metrics(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host.configure(f'metrics = "127.0.0.1:{port}"\n')
    host.arbiter()
    host.start(1)
    wait_for("a map", lambda: host.numbers() == {1: 4})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as reply:
        text = reply.read().decode()
    assert f'reprise_arbiter_forwarder_up{{address="{host.addresses[0]}"}} 1.0' in text
    assert 'reprise_arbiter_jobs{access="forwarded"} 1.0' in text
    assert "reprise_arbiter_decisions_total 2.0" in text
    page = (
        (ROOT / "docs/reference/metrics.md").read_text().partition("\n## Arbiter\n")[2].partition("\n## Council\n")[0]
    )
    listed = dict(re.findall(r"^\| `(reprise_\w+)` \| (\w+) \|", page, re.MULTILINE))
    types = dict(re.findall(r"^# TYPE (reprise_\w+) (\w+)$", text, re.MULTILINE))
    assert types == listed | {"reprise_build_info": "gauge"}
