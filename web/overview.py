# SPDX-License-Identifier: Apache-2.0
"""Data of the overview page, which a separate thread regularly reads from the database."""

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
PATIENCE_S = 1.0  # maximum number of seconds that a request waits for the first data
# minimum pause after a read, in multiples of the read's duration, so that a large database is read less often
REST = 100.0


class NotYetError(Exception):
    """The first read since the start of the service is not complete; the data will be available in a few seconds."""


class Overview:
    """The data from `site_summary`, which is read every FRESH_S seconds, or less often if reading takes long."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._found: dict[str, Any] | None = None
        self._begun = threading.Event()  # set as soon as the first read has succeeded or failed
        self._stop = threading.Event()

    def start(self) -> None:
        """Start the thread that refreshes the data."""
        threading.Thread(target=self._keep, name="overview", daemon=True).start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stop.set()

    def latest(self) -> dict[str, Any]:
        """Return the latest data.

        Raise NotYetError if the first read is not complete, and DatabaseError if the database cannot be read.
        """
        if self._found is None and not self._begun.wait(PATIENCE_S):
            raise NotYetError(
                "decisions and savings are being added up for the first time since the pages started: wait a moment"
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
            except Exception as error:  # keep the old data; the page shows when they were read
                log.warning("the overview cannot be read: %s", error)
            self._begun.set()
            if self._stop.wait(max(FRESH_S, REST * (time.monotonic() - begun))):
                return
