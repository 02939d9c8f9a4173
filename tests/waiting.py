# SPDX-License-Identifier: Apache-2.0
"""Waiting for what one wants to see, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotSeenError(RuntimeError):
    """What was waited for did not come in time."""


def in_time(play: Callable[[], T], good: Callable[[T], bool]) -> T:
    """The first of ten plays that is good, else the last: a machine that is busy is not so ten times."""
    for _ in range(9):
        if good(played := play()):
            return played
    return play()


def wait_for(what: str, probe: Callable[[], T | None], timeout_s: float = 60.0, every_s: float = 0.01) -> T:
    """The first true value of `probe`. Raises NotSeenError naming `what` after `timeout_s` seconds."""
    end = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            raise NotSeenError(f"{what}: not seen within {timeout_s:g} s")
        time.sleep(every_s)
