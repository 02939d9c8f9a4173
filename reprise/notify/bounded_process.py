# SPDX-License-Identifier: Apache-2.0
"""Run a process with a time limit, after which it is killed together with its children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """A process that has ended: its exit status (negative: the signal), and its standard output if it was wanted."""

    status: int
    output: bytes


def run(
    command: Sequence[str], given: bytes, timeout_s: float, environment: Mapping[str, str], *, reads: bool = False
) -> Ended | None:
    """Run a command that gets `given` on its standard input; None if it did not end within `timeout_s` seconds.

    The command need not read its input. Its standard output is returned if `reads` is True, and discarded otherwise.
    Its standard error is always discarded. Raises OSError if the command cannot be started.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if reads else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=environment,
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(given, timeout_s)
        except BaseException as error:
            # The process was not waited for yet, so its number, which is that of its group, is still its own.
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise
    return Ended(process.returncode, output or b"")
