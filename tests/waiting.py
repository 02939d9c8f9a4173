# SPDX-License-Identifier: Apache-2.0
"""Functions that wait until a condition is met, so that tests need not sleep, and the end of a process as one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class NotSeenError(RuntimeError):
    """The condition for which `wait_for` waited was not met in time."""


def in_time(play: Callable[[], T], good: Callable[[T], bool]) -> T:
    """Call `play` up to ten times, until `good` accepts its result; return the last result."""
    for _ in range(9):
        if good(played := play()):
            return played
    return play()


def wait_for(what: str, probe: Callable[[], T | None], timeout_s: float = 60.0, every_s: float = 0.01) -> T:
    """Call `probe` until it returns a true value, and return this value; raise NotSeenError after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise NotSeenError(f"{what}: not seen within {timeout_s:g} s")
        time.sleep(every_s)


def has_ended(pid: int) -> bool:
    """Return whether a process has closed its files: until all threads are zombies, its sockets take connections."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # one of them is gone: look again
        return not Path(f"/proc/{pid}").exists()
    return all(stat.rpartition(") ")[2].startswith("Z") for stat in threads)
