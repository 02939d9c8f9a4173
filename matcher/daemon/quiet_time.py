# SPDX-License-Identifier: Apache-2.0
"""Work that the event loop does while no client waits, namely making journal entries and collecting garbage."""

from __future__ import annotations

import asyncio
import time

from reprise.matcher.daemon import garbage_pauses
from reprise.matcher.daemon.pending_writes import Queue, Unmade

AFTER_REPLY_S = 0.01
"""Seconds between sending a reply and making its journal entry.

Making an entry takes half as long as the decision. If it were made at once, it would compete for processor and caches
with sbatch, which still communicates with slurmctld after the reply. That communication was measured to take 3 ms, and
0.3 ms longer with such competition.
"""
QUIET_S = 0.002
"""Seconds without a client before an entry is made, so that no entry delays the requests of a burst."""


class Quiet:
    """Work for pauses without clients; only the thread of the event loop may use it.

    An entry is made after QUIET_S seconds without a client. All servers share one instance, so that no server's entries
    delay the clients of another.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._timer: asyncio.TimerHandle | None = None
        self._active = 0.0  # time at which a client last connected or left (time.monotonic)

    def stir(self) -> None:
        """Record that a client has connected or left, which postpones the work."""
        self._active = time.monotonic()

    def put(self, unmade: Unmade) -> None:
        """Queue the entry of a reply that has been sent; the entry is made later."""
        self._queue.put_unmade(unmade)
        if self._timer is None:
            self._look_after(AFTER_REPLY_S)

    def _look_after(self, delay_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._look)

    def _look(self) -> None:
        """Make the next entry if this delays no client, and schedule the following entry.

        Between two entries, the loop accepts new clients.
        """
        self._timer = None
        since = self._queue.unmade_since()
        ready = 0.0 if since is None else since + AFTER_REPLY_S
        wait_s = max(ready, self._active + QUIET_S) - time.monotonic()
        if wait_s > 0:
            self._look_after(wait_s)
        elif since is not None:
            self._queue.make_next()
            self._look_after(0)
        else:
            garbage_pauses.collect()
