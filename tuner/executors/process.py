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


def run(argv: Sequence[str], environment: Mapping[str, str], directory: Path, timeout_s: float) -> Ended:
    """Run a program in `directory` to its end, or stop it with its children after `timeout_s`. Raises TunerError."""
    begin = time.monotonic()
    with (directory / "stdout").open("wb") as out, (directory / "stderr").open("wb") as err:
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
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
