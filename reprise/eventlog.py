# SPDX-License-Identifier: Apache-2.0
"""Format the daemon's log for systemd's journal, with one line of `key=value` pairs per event."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from typing import TextIO

_PLAIN = re.compile(r"[\w./:@%+,*-]+")


def line(event: str, **values: object) -> str:
    """Return a log line such as `event=decision user=alice score=0.93`.

    Values that are not plain words are quoted, so that no value can forge a line.
    """
    words = [f"event={event}"]
    for key, value in values.items():
        if value is not None:
            text = f"{value:.3g}" if isinstance(value, float) else str(value)
            words.append(f"{key}={text if _PLAIN.fullmatch(text) else json.dumps(text)}")
    return " ".join(words)


class _EachLine(logging.Formatter):
    """Formatter that puts the level before every line of a message; messages of the journal may have several lines."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(f"{record.levelname} {text}" for text in super().format(record).split("\n"))


def log_to(stream: TextIO) -> None:
    """Write a service's log to a stream, from the level INFO on."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_EachLine())
    logger = logging.getLogger("reprise")
    logger.handlers = [handler]
    logger.setLevel(min(logging.INFO, logging.getLogger().getEffectiveLevel()))
    logger.propagate = False


class Throttle:
    """Filter that logs each kind of event at most once every `every_s` seconds, and counts the suppressed events."""

    def __init__(self, every_s: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._next: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def warning(self, logger: logging.Logger, event: str, *, trace: bool = False, **values: object) -> None:
        """Log `event`, or count it as suppressed; with `trace`, also log the exception that is being handled."""
        now = self._clock()
        if now < self._next.get(event, 0.0):
            self._held[event] = self._held.get(event, 0) + 1
            return
        self._next[event] = now + self._every_s
        logger.warning(line(event, **values, held_back=self._held.pop(event, None)), exc_info=trace)
