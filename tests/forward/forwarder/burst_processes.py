# SPDX-License-Identifier: Apache-2.0
"""The processes of burst buffers, which the forwarder starts."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def burst_pids(bursts: Path) -> list[int]:
    """Return the process ids of all burst buffers of the forwarder with this directory of burst buffers."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f"--hand-over={bursts}/".encode() in words:
            found.append(int(process.name))
    return found


def kill_bursts(bursts: Path, number: signal.Signals = signal.SIGKILL) -> list[int]:
    """Send a signal to all burst buffers, and return their process ids."""
    pids = burst_pids(bursts)
    for pid in pids:
        with suppress(ProcessLookupError):  # an instance ends if there is another one
            os.kill(pid, number)
    return pids
