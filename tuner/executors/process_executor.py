# SPDX-License-Identifier: Apache-2.0
"""Run several processes at a time on the coordinator's host, each with its output in files in its directory."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.tuner.errors import TunerError
from reprise.tuner.executors import launch_failures
from reprise.tuner.executors.executor import read_output
from reprise.tuner.model import private_files
from reprise.tuner.model.component import TrialOutput

GRACE_S = 10.0  # seconds between SIGTERM, which srun and mpirun forward to their ranks, and SIGKILL


@dataclass(frozen=True)
class Ended:
    """Process that has ended. `stuck`: SIGTERM did not end it, so its ranks may still be running on other nodes."""

    key: str
    output: TrialOutput
    timed_out: bool = False
    stuck: bool = False


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    directory: Path
    ends_at: float
    timed_out: bool = False
    stuck: bool = False


class Processes:
    """Running processes, by key. A thread waits for each process, so that run times do not depend on polling."""

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._ended: queue.SimpleQueue[tuple[str, int, float]] = queue.SimpleQueue()

    def __len__(self) -> int:
        return len(self._running)

    def start(
        self,
        key: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        timeout_s: float,
        name: str = "std",
    ) -> None:
        """Start a program in `directory`, to be stopped with its children after `timeout_s` seconds.

        The output goes to the files `{name}out` and `{name}err` in `directory`. Raise TunerError if the program cannot
        be run.
        """
        with (
            private_files.open_file(directory / f"{name}out", "wb") as out,
            private_files.open_file(directory / f"{name}err", "wb") as err,
        ):
            begin = time.monotonic()
            try:
                process = subprocess.Popen(
                    list(argv),
                    cwd=directory,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,  # so that Ctrl-C reaches only the coordinator, which then stops its trials
                )
            except OSError as error:
                remedy = launch_failures.advice(f"{argv[0]}: cannot be run") or "install it or correct its path"
                raise TunerError(f"{argv[0]}: cannot be run ({error.strerror}): {remedy}") from error
        self._running[key] = _Running(process, directory, begin + timeout_s)
        threading.Thread(target=self._wait_for, args=(key, process, begin), daemon=True).start()

    def _wait_for(self, key: str, process: subprocess.Popen[bytes], begin: float) -> None:
        status = process.wait()
        self._ended.put((key, status, time.monotonic() - begin))

    def poll(self, timeout_s: float) -> list[Ended]:
        """Wait up to `timeout_s` seconds until at least one process has ended, and return those that have ended."""
        until = time.monotonic() + timeout_s
        found: list[Ended] = []
        while self._running and not found:
            self._stop_overdue()
            soonest = min(one.ends_at for one in self._running.values())
            wait = max(0.0, min(until, soonest) - time.monotonic())
            with contextlib.suppress(queue.Empty):
                found.append(self._collect(*self._ended.get(timeout=wait)))
            if time.monotonic() >= until:
                break
        with contextlib.suppress(queue.Empty):
            while self._running:
                found.append(self._collect(*self._ended.get_nowait()))
        return found

    def stop(self) -> None:
        """End all processes and their children, and wait until they have ended."""
        for one in self._running.values():
            _signal(one.process, signal.SIGTERM)
        for one in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.process.wait(GRACE_S)
            _signal(one.process, signal.SIGKILL)
            one.process.wait()
        self._running.clear()

    def _stop_overdue(self) -> None:
        now = time.monotonic()
        for one in self._running.values():
            if now < one.ends_at:
                continue
            _signal(one.process, signal.SIGKILL if one.timed_out else signal.SIGTERM)
            one.stuck = one.timed_out
            one.ends_at = math.inf if one.timed_out else now + GRACE_S
            one.timed_out = True

    def _collect(self, key: str, status: int, elapsed_s: float) -> Ended:
        one = self._running.pop(key)
        if one.timed_out:
            _signal(one.process, signal.SIGKILL)  # for children that outlived the process
        return Ended(key, read_output(one.directory, status, elapsed_s), one.timed_out, one.stuck)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process's whole session, since timeout(1) and mpirun start children in new process groups."""
    for pid in _session(process.pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _session(leader: int) -> list[int]:
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(path.read_text(errors="replace").rpartition(")")[2].split()[3]) == leader:
                members.append(int(path.parent.name))
    return members


def end_all_below(directory: Path) -> None:
    """Kill processes left by a killed coordinator: those whose standard output is a file in `directory`."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "fd/1").readlink().parent == directory:
                os.kill(int(path.name), signal.SIGKILL)
