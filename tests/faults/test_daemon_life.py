# SPDX-License-Identifier: Apache-2.0
"""Test that a job runs as without the plugin if the real daemon has internal faults, or is restarted or reloaded."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reprise.database import Database
from tests.faults.life import Job, assert_unharmed
from tests.spank.conftest import Stub
from tests.unit.matcher_daemon import Daemon, record
from tests.waiting import wait_for

# Runs a line of Python that patches `reprise`, then runs `reprise` itself as `python -m reprise` does.
PATCHED = "import sys, runpy; sys.argv = sys.argv[3:]; {}; runpy.run_module('reprise', run_name='__main__')"
DECIDING_FAILS = "import reprise.matcher.daemon.service as service; service.answered = lambda *_, **__: 1 / 0"
CLOCK_JUMPS = (
    "import itertools, time; real, jump = time.time, itertools.cycle([0, 86_400, -86_400 * 400]).__next__; "
    "time.time = lambda: real() + jump()"
)


@pytest.fixture
def daemon(tmp_path: Path, job: Job) -> Iterator[Daemon]:
    """Return a daemon that has not been started, with a record for an application other than the job's."""
    one = Daemon(tmp_path)
    one.add(record())
    job.stub.socket = one.socket
    job.deadline_ms = 1000  # the daemon's first answer takes long, and the machine may be busy
    yield one
    one.stop()
    sys.stdout.write(one.text())


def patched(line: str) -> tuple[str, str, str]:
    return sys.executable, "-c", PATCHED.format(line)


def reported(daemon: Daemon) -> bool:
    with Database.open(daemon.database, read_only=True) as database:
        outcomes = database.outcomes_of_job("test", 4711)
    return any(outcome.ended_at is not None for outcome in outcomes)


def test_nothing_is_wrong(job: Job, daemon: Daemon) -> None:
    """The other tests prove something only if a healthy daemon harms no job and gets the report of the job's end."""
    daemon.start()
    assert_unharmed(job, waits=True)
    wait_for("the job's end in the journal", lambda: reported(daemon))


@pytest.mark.slow
def test_an_exception_while_a_job_is_decided_about(job: Job, daemon: Daemon) -> None:
    daemon.spawn(*patched(DECIDING_FAILS))
    daemon.wait_until_up()
    assert_unharmed(job, waits=True)
    daemon.wait_log("ZeroDivisionError")
    assert daemon.pings()


@pytest.mark.slow
def test_a_clock_that_jumps(job: Job, daemon: Daemon) -> None:
    daemon.spawn(*patched(CLOCK_JUMPS))
    daemon.wait_until_up()
    assert_unharmed(job, waits=True)
    wait_for("the job's end in the journal", lambda: reported(daemon))


@pytest.mark.slow
def test_a_full_disk_for_the_log(job: Job, daemon: Daemon) -> None:
    daemon.spawn("sh", "-c", 'exec "$@" > /dev/full 2>&1', "-")
    daemon.wait_until_up()
    assert_unharmed(job, waits=True)
    wait_for("the job's end in the journal", lambda: reported(daemon))


def test_two_daemons_on_one_socket(job: Job, daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    second = Daemon(tmp_path)
    second.spawn()
    assert second.process and second.process.wait() == 1
    daemon.wait_log("another matcher serves this socket")
    assert_unharmed(job, waits=True)
    wait_for("the job's end in the journal", lambda: reported(daemon))


@contextlib.contextmanager
def never_at_rest(daemon: Daemon) -> Iterator[list[str]]:
    """Reload, stop, kill and restart the daemon repeatedly; yield the growing list of these actions."""
    done: list[str] = []
    enough = threading.Event()

    def disturb() -> None:
        while not enough.is_set():
            daemon.signal(signal.SIGHUP)
            done.append("reloaded")
            (daemon.kill if len(done) % 4 == 1 else daemon.stop)()
            daemon.start()
            done.append("restarted")

    daemon.start()
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield done
    finally:
        enough.set()
        thread.join()


@pytest.mark.slow
def test_restarts_and_reloads_under_load(job: Job, daemon: Daemon, tmp_path: Path) -> None:
    def live(number: int) -> None:
        directory = tmp_path / f"job-{number}"
        directory.mkdir()
        (directory / "job.sh").write_text("#!/bin/sh\nsrun ./a\n")
        stub = Stub(job.stub.program, directory, daemon.socket)
        for count in itertools.count():
            if count >= 6 and done.count("restarted") > 2:
                return
            assert_unharmed(dataclasses.replace(job, stub=stub), waits=True)

    with never_at_rest(daemon) as done, ThreadPoolExecutor(4) as jobs:
        list(jobs.map(live, range(4)))
