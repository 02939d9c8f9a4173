# SPDX-License-Identifier: Apache-2.0
"""The daemon's log: one line per event, `key=value`, on standard error, where systemd's journal takes it."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable

_PLAIN = re.compile(r"[\w./:@%+,*-]+")


def line(event: str, **values: object) -> str:
    """`event=decision user=alice score=0.93`; what is not a plain word is quoted, so that no value can forge a line."""
    words = [f"event={event}"]
    for key, value in values.items():
        if value is not None:
            text = f"{value:.3g}" if isinstance(value, float) else str(value)
            words.append(f"{key}={text if _PLAIN.fullmatch(text) else json.dumps(text)}")
    return " ".join(words)


class Throttle:
    """Lets one log line of a kind through per `every_s` seconds, and tells with the next how many were held back."""

    def __init__(self, every_s: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._next: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def warning(self, logger: logging.Logger, event: str, *, trace: bool = False, **values: object) -> None:
        """Log `event` (with `trace`, and the exception that is being handled), or count it."""
        now = self._clock()
        if now < self._next.get(event, 0.0):
            self._held[event] = self._held.get(event, 0) + 1
            return
        self._next[event] = now + self._every_s
        logger.warning(line(event, **values, held_back=self._held.pop(event, None)), exc_info=trace)
