# SPDX-License-Identifier: Apache-2.0
"""Work that the loop does while no client waits: it makes journal entries, then collects garbage."""

from __future__ import annotations

import asyncio
import time

from reprise.matcher.daemon import garbage_pauses
from reprise.matcher.daemon.pending_writes import Queue, Unmade

AFTER_REPLY_S = 0.01
"""Seconds between a reply and the making of its entry. Making it takes half as long as the decision, and would compete
for processor and caches with an sbatch that is still busy with slurmctld (measured: 3 ms, and 0.3 ms more with it)."""
QUIET_S = 0.002
"""Seconds without a client before an entry is made: requests come in clusters, and the next one would have to wait."""


class Quiet:
    """Work for quiet moments. For the loop's thread; all servers share one, so that no server's entries delay another.

    An entry is made after QUIET_S without a client at any server.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._timer: asyncio.TimerHandle | None = None
        self._active = 0.0  # when a client came or went (monotonic)

    def stir(self) -> None:
        """Note that a client came or went."""
        self._active = time.monotonic()

    def put(self, unmade: Unmade) -> None:
        """Queue the entry of a reply that was sent, to be made later."""
        self._queue.put_unmade(unmade)
        if self._timer is None:
            self._look_after(AFTER_REPLY_S)

    def _look_after(self, delay_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._look)

    def _look(self) -> None:
        """Make the next entry if no client would wait for it, and schedule the one after it.

        In between, the loop looks for new clients.
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
