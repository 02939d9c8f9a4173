# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of identifying programs by their files: a job's wait on its node, and the time of a decision.

The files are in the page cache, like the file of a program that is about to run. `beyond_bounds` lists the keys whose
values exceed their bounds.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bench.match.asked_daemon import one_after_another
from bench.quantile import quantile
from reprise.matcher.wire import protocol
from tests.hung_filesystem import can_be_mounted, hung_filesystem
from tests.ordinary_user import AS_ORDINARY_USER
from tests.spank.conftest import FLAGS, VERSION, without_slurm
from tests.unit.asked_jobs import asked_about
from tests.unit.matcher_daemon import Daemon, request

ASKED = 300  # number of requests to a job to identify its program, for each kind of file
HUNG = 20  # number of requests for a file on a file system that hangs
PROGRAMS = 300  # number of executables of this host; a script is submitted for each of them
MOST_FUNCTIONS = 48_000  # the largest number of functions whose names fit into the 4 MiB that the plugin reads
LARGE_MIB, LARGE_FUNCTIONS = 200, 400_000
JOB_MS, LATE_MS = 20.0, 50.0
"""Upper bounds in milliseconds for a job's wait until its program is read; `LATE_MS` applies to the kinds in `LATE`.

`LATE_MS` consists of the plugin's 20 ms, another 20 ms for the reader to end after the plugin gives up, and the
remaining overhead.
"""
LATE = ("most", "hung")
DECISION_MS = 25.0
"""Upper bound for the time of a decision: 20 ms to read a file, and the remaining overhead."""


def measure(directory: Path) -> dict[str, Any]:
    """Run a daemon and return all results of this module. Keys that end in `_ms` are in milliseconds."""
    daemon = Daemon(directory)
    daemon.start()
    try:
        result = _asked_jobs(daemon, directory) | _decisions(daemon, directory)
    finally:
        daemon.stop()
    beyond = [key for key, value in result.items() if key.endswith("_p99_ms") and value > _bound_of(key)]
    told = {**result, "beyond_bounds": beyond}
    click.echo(json.dumps(told))
    return told


def _bound_of(key: str) -> float:
    if key.startswith("program_"):
        return DECISION_MS
    return LATE_MS if any(kind in key for kind in LATE) else JOB_MS


def _summary(name: str, took: list[float]) -> dict[str, float]:
    return {f"{name}_p50_ms": round(statistics.median(took), 2), f"{name}_p99_ms": round(quantile(took, 0.99), 2)}


# --- on the node


def _asked_jobs(daemon: Daemon, directory: Path) -> dict[str, float]:
    program = directory / "identify_time"
    sources = [*without_slurm(), Path(__file__).with_name("identify_time.c")]
    words = ["cc", *FLAGS, "-O2", VERSION, *map(str, sources), "-o", str(program), "-ljson-c", "-ldl"]
    subprocess.run(words, check=True)
    result: dict[str, float] = {}
    with _files(directory) as files:
        for kind, path in files.items():
            count = HUNG if kind == "hung" else ASKED
            command = [*AS_ORDINARY_USER, str(program), f"endpoint=unix:{daemon.socket}", str(path), str(count)]
            with tempfile.TemporaryFile() as told:  # not a pipe, which a hung child would keep open
                subprocess.run(command, check=True, stdout=told)
                told.seek(0)
                result |= _summary(f"job_asked_{kind}", [float(line) / 1e3 for line in told])
    return result


@contextlib.contextmanager
def _files(directory: Path) -> Iterator[Mapping[str, Path]]:
    """Yield a mapping from each kind of file that a job's program may be to the path of a file of this kind."""
    kinds = ("executable", "most", "large", "script", "fifo", "directory", "gone")
    files = {kind: directory / kind for kind in kinds}
    shutil.copy("/usr/bin/env", files["executable"])
    _make_executable(files["most"], MOST_FUNCTIONS, 1)
    _make_executable(files["large"], LARGE_FUNCTIONS, LARGE_MIB)
    files["script"].write_text("import numpy\n" + "field = advance(field, step)\n" * 3000)
    os.mkfifo(files["fifo"])
    files["directory"].mkdir()
    if not can_be_mounted():
        yield files
        return
    place = directory / "hung"
    place.mkdir()
    with hung_filesystem(place):
        yield {**files, "hung": place / "solver"}


def _make_executable(path: Path, functions: int, mib: int) -> None:
    """Assemble an executable with `functions` functions, with names as in C++ programs, and `mib` MiB of data."""
    source = path.with_suffix(".s")
    names = (f"_ZN5model{number % 977:03}Lattice7advanceERKSt6vectorIdE{number}" for number in range(functions))
    with source.open("w") as file:
        file.writelines(f".globl {name}\n.type {name},@function\n{name}: nop\n" for name in names)
        file.write(f".data\n.fill {mib << 17}, 8, 1\n")
    subprocess.run(["as", "-o", str(path), str(source)], check=True)
    source.unlink()


# --- in the daemon


def _decisions(daemon: Daemon, directory: Path) -> dict[str, float]:
    """Measure decisions for programs that the daemon has not read, has read before, or knows from jobs' reports."""
    executables = [path for path in sorted(Path("/usr/bin").iterdir()) if path.is_file() and not path.is_symlink()]
    frames = [_frame(path) for path in executables[:PROGRAMS]]
    closed = directory / "closed"
    shutil.copy("/usr/bin/env", closed)
    closed.chmod(0o700)
    result = _summary("program_first", one_after_another(daemon, frames))
    result |= _summary("program_again", one_after_another(daemon, frames))
    _tell(daemon, closed)
    return result | _summary("program_told", one_after_another(daemon, [_frame(closed)] * PROGRAMS))


def _frame(program: Path) -> bytes:
    return protocol.frame(request(f"#!/bin/sh\nsrun {program} in.dat\n"), protocol.REQUEST_LIMIT)


def _tell(daemon: Daemon, program: Path) -> None:
    """Send the identity of a program to the daemon, as a job does when it starts."""
    decision = asked_about(daemon, program, request(f"#!/bin/sh\nsrun {program} in.dat\n"))
    daemon.ask({"v": 1, "kind": "identity", "decision": decision, "contents": 32 * "c"})
