# SPDX-License-Identifier: Apache-2.0
"""What the overview shows, read from the database now and then, by a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from reprise.config import Config
from reprise.database import Database
from reprise.matcher.support.jobs import site_summary

log = logging.getLogger(__name__)

FRESH_S = 60.0
PATIENCE_S = 1.0  # for which a reader waits where nothing was read yet
REST = 100.0  # times what it took to read: where the database is large, it is read less often


class NotYetError(Exception):
    """Nothing was read yet since the start; it will be, in some seconds."""


class Overview:
    """What `site_summary` reads, anew every FRESH_S, or less often: it takes a REST'th of a processor."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._found: dict[str, Any] | None = None
        self._begun = threading.Event()  # it was read, or could not be
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to keep it fresh."""
        threading.Thread(target=self._keep, name="overview", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def latest(self) -> dict[str, Any]:
        """What was read last. Raises NotYetError where that takes long for the first time, and DatabaseError where it
        cannot be read."""
        if self._found is None and not self._begun.wait(PATIENCE_S):
            raise NotYetError(
                "what was decided and saved is being added up, for the first time since the pages started"
            )
        found = self._found
        if found is None:
            with self._lock:
                found = self._found = self._found or self._read()
        return found

    def _read(self) -> dict[str, Any]:
        with Database.open(self._config.database.path, read_only=True) as database:
            return site_summary.read(database, self._config, time.time())

    def _keep(self) -> None:
        while True:
            begun = time.monotonic()
            try:
                with self._lock:
                    self._found = self._read()
            except Exception as error:  # what was known stays, and says how old it is
                log.warning("the overview cannot be read: %s", error)
            self._begun.set()
            if self._stop.wait(max(FRESH_S, REST * (time.monotonic() - begun))):
                return
