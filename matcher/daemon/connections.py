# SPDX-License-Identifier: Apache-2.0
"""Limits on the number of connections that are served at once; the other connections wait, and clients take turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from reprise.matcher.daemon.turns import Lanes

T = TypeVar("T")

SHARE = 16
"""One client gets at most 1/SHARE of the connections served at once, so that a few clients cannot take all of them.

A client is a uid or, over TCP, an address, because the uid is unknown at first. If a user runs hundreds of sbatch
commands at once, these commands wait for each other but delay no other user.
"""

WAITING = 1024
"""Maximum number of connections that wait for a place, at some 1 KiB each; the kernel's backlog can hold as many again.
"""
HURRIED_S = 0.25
"""Seconds within which a connection must send its request if other connections of its client wait for a place.

This is long enough for plugins, which connect milliseconds before they send, and reconnect if the connection is lost.
"""


class Places(Generic[T]):
    """Places for at most `most` connections to be served at once; others wait for a place, and clients take turns.

    Only the thread of the event loop may use it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = max(1, most // SHARE)
        self._served: Counter[Hashable] = Counter()
        self._total = 0
        self._waiting: Lanes[T] = Lanes()
        self._waiting_of: Counter[Hashable] = Counter()
        self._asking: dict[Hashable, dict[int, asyncio.Timeout]] = {}

    def __len__(self) -> int:
        """Return the number of places that are taken."""
        return self._total

    def take(self, client: Hashable) -> bool:
        """Take a place for this client and return True; return False if no place is free for it."""
        if self._total >= self._most or self._served[client] >= self._share:
            return False
        self._served[client] += 1
        self._total += 1
        return True

    def leave(self, client: Hashable) -> None:
        """Release a place of this client."""
        self._served[client] -= 1
        self._total -= 1
        if not self._served[client]:
            del self._served[client]

    def wait(self, client: Hashable, connection: T) -> T | None:
        """Let a connection wait for a place; if more than WAITING connections wait, return the one to refuse.

        The connection to refuse is the newest connection of the client that has the most waiting connections.
        """
        if self._total >= self._most:
            self._make_room(client)
        for patience in self._asking.get(client, {}).values():
            _hurry(patience, HURRIED_S)
        self._waiting.put(client, connection)
        self._waiting_of[client] += 1
        if len(self._waiting) <= WAITING:
            return None
        most = max(self._waiting_of, key=self._waiting_of.__getitem__)
        self._waits_no_more(most)
        return self._waiting.take_newest(most)

    def next(self) -> T | None:
        """Give a free place to the next waiting connection and return the connection; None if none can get one."""
        client = next((one for one in self._waiting if self.take(one)), None)
        if client is None:
            return None
        self._waits_no_more(client)
        return self._waiting.take(client)[1]

    def _waits_no_more(self, client: Hashable) -> None:
        self._waiting_of[client] -= 1
        if not self._waiting_of[client]:
            del self._waiting_of[client]

    def begin_asking(self, client: Hashable, patience: asyncio.Timeout) -> None:
        """Register the timeout of a connection without a request; shorten it if the client's other connections wait."""
        self._asking.setdefault(client, {})[id(patience)] = patience
        if self._waiting_of[client]:
            _hurry(patience, HURRIED_S)

    def end_asking(self, client: Hashable, patience: asyncio.Timeout) -> None:
        """Unregister the timeout of a connection that has sent its request or has ended."""
        asking = self._asking.get(client)
        if asking is not None:
            asking.pop(id(patience), None)
            if not asking:
                del self._asking[client]

    def _make_room(self, client: Hashable) -> None:
        """Time out an idle connection of the client that has the most, if that client has more places than `client`.

        The connection that has been idle longest is chosen. Idle connections have not sent a request yet.
        """
        most = max(self._asking, key=lambda one: len(self._asking[one]), default=client)
        if self._served[most] > self._served[client]:
            _hurry(self._asking[most].pop(next(iter(self._asking[most]))), 0.0)
            if not self._asking[most]:
                del self._asking[most]

    def waiting(self) -> Iterator[T]:
        """Remove and yield all waiting connections."""
        while self._waiting:
            yield self._waiting.take()[1]


def _hurry(patience: asyncio.Timeout, left_s: float) -> None:
    """Shorten a timeout so that it ends at most `left_s` seconds from now."""
    end = asyncio.get_running_loop().time() + left_s
    if (patience.when() or end) >= end:
        patience.reschedule(end)
