# SPDX-License-Identifier: Apache-2.0
"""Who is served: how many connections one client may have, and whose turn it is where all places are taken."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from reprise.matcher.daemon.turns import Lanes

T = TypeVar("T")

SHARE = 16
"""One client (a uid; over TCP, where that is not known yet, an address) has a quarter of the places at most: three that
take all they can leave room for others. Hundreds of sbatch at once by one user wait for each other, and for no one
else."""

WAITING = 1024
"""Connections that wait for a place, as many as the kernel lets wait before them; some 1 KiB each."""
HURRIED_S = 0.25
"""For a request to be sent where others of its client wait for the place: a plugin connects milliseconds ahead, and
connects again where it has lost that."""


class Places(Generic[T]):
    """`most` places for connections that are served. Others wait for one, the clients in turn.

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
        """Places that are taken."""
        return self._total

    def take(self, client: Hashable) -> bool:
        """Take a place; False where none is free for this client."""
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
        """Have a connection wait for a place. Returns one that can't, where too many do: the newest of the client that
        has the most of them."""
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
        """A connection that waited and has a place now; None: there is no such."""
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
        """Note that a connection of this client is to send its request: it may be hurried."""
        self._asking.setdefault(client, {})[id(patience)] = patience
        if self._waiting_of[client]:
            _hurry(patience, HURRIED_S)

    def end_asking(self, client: Hashable, patience: asyncio.Timeout) -> None:
        """Note that it has sent that, or never will."""
        asking = self._asking.get(client)
        if asking is not None:
            asking.pop(id(patience), None)
            if not asking:
                del self._asking[client]

    def _make_room(self, client: Hashable) -> None:
        """End the patience with the connection that has not asked for the longest time, of whoever has the most of
        those, for a client that has fewer places."""
        most = max(self._asking, key=lambda one: len(self._asking[one]), default=client)
        if self._served[most] > self._served[client]:
            _hurry(self._asking[most].pop(next(iter(self._asking[most]))), 0.0)
            if not self._asking[most]:
                del self._asking[most]

    def waiting(self) -> Iterator[T]:
        """Those that wait, each of whom is forgotten with that."""
        while self._waiting:
            yield self._waiting.take()[1]


def _hurry(patience: asyncio.Timeout, left_s: float) -> None:
    """Leave no more than this."""
    end = asyncio.get_running_loop().time() + left_s
    if (patience.when() or end) >= end:
        patience.reschedule(end)
