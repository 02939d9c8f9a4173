# SPDX-License-Identifier: Apache-2.0
"""Events that the daemon notifies administrators of: quarantines, and writes that have waited for too long."""

from __future__ import annotations

import time
from collections.abc import Callable

from reprise.config import Config
from reprise.database.entities import Record
from reprise.notify import notification
from reprise.notify.notification import Notification

PATIENCE_S = 60.0
"""Seconds for which writes may wait before administrators are notified; a backup holds its lock for some seconds."""


class Admins:
    """Administrators, whom `tell` notifies without waiting. Used in the journal's thread only.

    `config` returns the configuration in force.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        tell: Callable[[Notification], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._tell = tell
        self._clock = clock
        self._waiting_since: float | None = None
        self._told = False

    def quarantined(self, record: Record, user: str | None, why: str) -> None:
        """Notify of a record that is quarantined, for a user or, if None, for all."""
        cluster = self._config().site.cluster
        self._tell(notification.quarantined(cluster, record.id, record.component, record.metadata, user, why))

    def writes_wait(self, count: int, why: str) -> None:
        """Note a failed attempt to write; notify once if writes have failed for PATIENCE_S seconds."""
        now = self._clock()
        if self._waiting_since is None:
            self._waiting_since = now
        seconds = now - self._waiting_since
        if seconds >= PATIENCE_S and not self._told:
            self._told = True
            self._tell(notification.writes_wait(self._config().site.cluster, count, seconds, why))

    def writes_done(self) -> None:
        """Note that writes work again."""
        self._waiting_since, self._told = None, False
