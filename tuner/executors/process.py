# SPDX-License-Identifier: Apache-2.0
"""A trial as a process of the coordinator's host, its output in files of the trial's directory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.component import TrialOutput
from tuner.errors import TunerError
from tuner.executors.base import read_output

GRACE_S = 10.0  # from SIGTERM, which srun and mpirun pass on to their ranks, to SIGKILL


@dataclass(frozen=True)
class Ended:
    """What a process left. `stuck`: it did not end by SIGTERM, so ranks of it may still run elsewhere."""

    output: TrialOutput
    timed_out: bool = False
    stuck: bool = False


def run(
    argv: Sequence[str], environment: Mapping[str, str], directory: Path, timeout_s: float, name: str = "std"
) -> Ended:
    """Run a program in `directory` to its end, or stop it with its children after `timeout_s`. Raises TunerError.

    Its output goes to `stdout` and `stderr` there, or to files that begin with another `name`.
    """
    begin = time.monotonic()
    with (directory / f"{name}out").open("wb") as out, (directory / f"{name}err").open("wb") as err:
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # a terminal's Ctrl-C is for the coordinator, which then stops its trial
            )
        except OSError as error:
            raise TunerError(f"{argv[0]}: cannot be run ({error.strerror}): install it or correct its path") from error
        timed_out = stuck = False
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out, stuck = True, not _stop(process)
            status = process.returncode
        except BaseException:
            _stop(process)
            raise
    return Ended(read_output(directory, status, time.monotonic() - begin), timed_out, stuck)


def _stop(process: subprocess.Popen[bytes]) -> bool:
    """End a process and its session; whether SIGTERM was enough."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()
        return False
    _signal(process, signal.SIGKILL)  # children that outlived it
    return True


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To the whole session: timeout(1) and mpirun give their children process groups of their own."""
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
