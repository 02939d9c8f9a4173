# SPDX-License-Identifier: Apache-2.0
"""Check whether the arbiter runs, without waiting for a shared file system that hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from reprise.matcher.forwarding.map_directory import is_held

PATIENCE_S = 1.0  # maximum number of seconds that a request waits; on a healthy file system, a check takes milliseconds


class ArbiterCheck:
    """The check of the directory `maps`, in a thread of its own.

    If the file system hangs, so does this one thread, and all requests continue after PATIENCE_S.
    """

    def __init__(self, maps: Path, check: Callable[[Path], bool | None] = is_held) -> None:
        self._maps = maps
        self._check = check
        self._lock = threading.Lock()
        self._pending: Future[bool | None] | None = None

    def runs(self) -> bool | None:
        """Return whether the arbiter runs; None if this is unknown."""
        with self._lock:
            if self._pending is None or self._pending.done():
                self._pending = Future()
                threading.Thread(target=self._run, args=(self._pending,), name="arbiter check", daemon=True).start()
            pending = self._pending
        try:
            return pending.result(PATIENCE_S)
        except TimeoutError:
            return None

    def _run(self, pending: Future[bool | None]) -> None:
        try:
            pending.set_result(self._check(self._maps))
        except Exception as error:
            pending.set_exception(error)
