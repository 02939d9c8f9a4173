# SPDX-License-Identifier: Apache-2.0
"""Places for connections: how many one client may have, and whose turn it is if all places are taken."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from reprise.matcher.daemon.turns import Lanes

T = TypeVar("T")

SHARE = 16
"""One client has at most one in SHARE of the places, so that a few clients cannot take them all. A client is a uid or,
over TCP, where the uid is unknown at first, an address. One user's hundreds of concurrent sbatch commands wait for each
other, and for no one else."""

WAITING = 1024
"""Connections that may wait for a place, some 1 KiB each. The kernel's backlog holds as many again."""
HURRIED_S = 0.25
"""Seconds that a connection has to send its request if others of the same client wait for its place. A plugin connects
milliseconds ahead, and connects again if it has lost its connection."""


class Places(Generic[T]):
    """`most` places for connections to be served. Other connections wait for one, and the clients take turns.

    For the loop's thread.
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
        """Number of places that are taken."""
        return self._total

    def take(self, client: Hashable) -> bool:
        """Take a place; return False if none is free for this client."""
        if self._total >= self._most or self._served[client] >= self._share:
            return False
        self._served[client] += 1
        self._total += 1
        return True

    def leave(self, client: Hashable) -> None:
        """Give a place back."""
        self._served[client] -= 1
        self._total -= 1
        if not self._served[client]:
            del self._served[client]

    def wait(self, client: Hashable, connection: T) -> T | None:
        """Add a connection to those that wait for a place; if too many wait, return one to refuse.

        That is the newest connection of the client with the most waiting connections.
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
        """Give a place to the next waiting connection and return it; None if no connection can have one."""
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
        """Note that a connection of this client has yet to send its request, so that it can be hurried."""
        self._asking.setdefault(client, {})[id(patience)] = patience
        if self._waiting_of[client]:
            _hurry(patience, HURRIED_S)

    def end_asking(self, client: Hashable, patience: asyncio.Timeout) -> None:
        """Note that the connection has sent its request, or never will."""
        asking = self._asking.get(client)
        if asking is not None:
            asking.pop(id(patience), None)
            if not asking:
                del self._asking[client]

    def _make_room(self, client: Hashable) -> None:
        """Time out an idle connection in favour of a client that has fewer places.

        It is the longest idle connection of the client with the most idle connections.
        """
        most = max(self._asking, key=lambda one: len(self._asking[one]), default=client)
        if self._served[most] > self._served[client]:
            _hurry(self._asking[most].pop(next(iter(self._asking[most]))), 0.0)
            if not self._asking[most]:
                del self._asking[most]

    def waiting(self) -> Iterator[T]:
        """Remove and yield each waiting connection."""
        while self._waiting:
            yield self._waiting.take()[1]


def _hurry(patience: asyncio.Timeout, left_s: float) -> None:
    """Shorten the timeout to `left_s` from now, if it is longer."""
    end = asyncio.get_running_loop().time() + left_s
    if (patience.when() or end) >= end:
        patience.reschedule(end)
