# SPDX-License-Identifier: Apache-2.0
"""Background work that may hang. It has its own thread and database connection, so nothing else waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from reprise.database.errors import DatabaseError
from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import Throttle
from reprise.matcher.errors import MatcherError

log = logging.getLogger(__name__)

POLL_S = 1.0
STOP_S = 5.0


class Background:
    """Thread that calls `step` once a second. An exception that `step` raises is logged, and the calls continue."""

    def __init__(self, name: str, path: Path, step: Callable[[DaemonDatabase], object]) -> None:
        self._path = path
        self._step = step
        self._name = name
        self._stopping = threading.Event()
        self._throttle = Throttle()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread that calls `step`."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, waiting at most STOP_S seconds for the current step, which may hang."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._stopping.wait(POLL_S):
            try:
                with DaemonDatabase.open(self._path) as database:
                    self._step(database)
            except (DatabaseError, MatcherError) as error:
                self._throttle.warning(log, "background-failed", work=self._name, error=error)
            except Exception as error:  # a bug in `step` must not end the thread
                self._throttle.warning(log, "background-failed", trace=True, work=self._name, error=error)
