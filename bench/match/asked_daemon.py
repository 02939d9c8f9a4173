# SPDX-License-Identifier: Apache-2.0
"""Request decisions from a real daemon over its socket, and measure its response times, memory and CPU time."""

from __future__ import annotations

import gc
import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.match.large_database import script_of
from bench.match.large_site import Site
from reprise.matcher.errors import MatcherError
from reprise.matcher.wire import protocol
from reprise.matcher.wire.client import PING, ask
from tests.unit.matcher_daemon import Daemon
from tests.waiting import wait_for

STRANGERS = 0.2  # share of the requests that are from a user without records, for a code without records


def question(site: Site, rng: random.Random) -> bytes:
    """Return the frame with which the plugin requests a decision about `sbatch job.sh`, for a random job."""
    job = site.job()
    if rng.random() < STRANGERS:
        job = Site(rng, 1).job()
    message = {
        "v": protocol.VERSION,
        "kind": "decide",
        "point": "submit",
        "mode": "on",
        "client": {"plugin": "0", "slurm": "22.05"},
        "submission": {
            "command": "sbatch",
            "argv": ["sbatch", "job.sh"],
            "cwd": job.directory,
            "env": {},
            "set": [],
            "script": {"path": f"{job.directory}/job.sh", "text": script_of(job), "truncated": False},
        },
    }
    return protocol.frame(message, protocol.REQUEST_LIMIT)


def start(daemon: Daemon) -> float:
    """Start the daemon and return the seconds until it answers."""
    begun = time.perf_counter()
    daemon.spawn()

    def answers() -> bool:
        try:
            return bool(ask(daemon.socket, PING, 60)["records"])
        except MatcherError:
            return False

    wait_for("an answer", lambda: daemon.running() and answers(), timeout_s=600)
    return time.perf_counter() - begun


def rss_mib(daemon: Daemon, what: str = "VmRSS") -> float:
    """Return the daemon's memory in MiB, as the line `what` of /proc/PID/status reports it."""
    if daemon.process is None:
        raise ValueError("the daemon does not run")
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) / 1024


def cpu_s(daemon: Daemon) -> float:
    """Return the CPU seconds that the daemon has used so far, including those for writing to the database."""
    if daemon.process is None:
        raise ValueError("the daemon does not run")
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_after_another(
    daemon: Daemon, frames: Sequence[bytes], then: Callable[[Mapping[str, Any]], object] = lambda _: None
) -> list[float]:
    """Send the frames one by one; return the milliseconds from the start of each connection to the answer.

    `then` is called with each answer.
    """
    took = []
    gc.disable()
    for frame in frames:
        begun = time.perf_counter()
        with daemon.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(frame)
            body = stream.read(int.from_bytes(stream.read(protocol.HEADER_BYTES), "big"))
        took.append((time.perf_counter() - begun) * 1e3)
        answer = json.loads(body)
        if answer["kind"] != "decision":
            raise ValueError(f"the daemon answered {body!r}")
        then(answer)
    gc.enable()
    return took
