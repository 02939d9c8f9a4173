# SPDX-License-Identifier: Apache-2.0
"""Fair scheduling, in which a client's next piece of work waits for at most one piece of each other client."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """Queues, one per key, that are served round-robin; a key without items takes no memory."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, deque[T]] = {}  # in the order of their turns
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Hashable]:
        """Iterate over the keys, in the order of their turns."""
        return iter(self._lanes)

    def put(self, key: Hashable, item: T) -> None:
        """Append an item to the queue of its key."""
        self._lanes.setdefault(key, deque()).append(item)
        self._count += 1

    def put_back(self, key: Hashable, items: Sequence[T]) -> None:
        """Put items back at the front of the key's queue, keeping their order."""
        self._lanes.setdefault(key, deque()).extendleft(reversed(items))
        self._count += len(items)

    def next(self) -> T:
        """Return the item whose turn is next, without removing it; there must be one."""
        return next(iter(self._lanes.values()))[0]

    def take(self, key: Hashable | None = None) -> tuple[Hashable, T]:
        """Remove and return a key's first item, by default that of the key whose turn it is; the key then goes last."""
        key = next(iter(self._lanes)) if key is None else key
        lane = self._lanes.pop(key)
        item = lane.popleft()
        if lane:
            self._lanes[key] = lane
        self._count -= 1
        return key, item

    def take_newest(self, key: Hashable) -> T | None:
        """Remove and return the newest item of the key; None if the key has no items."""
        lane = self._lanes.get(key)
        if not lane:
            return None
        item = lane.pop()
        if not lane:
            del self._lanes[key]
        self._count -= 1
        return item


class Rounds:
    """Limit of one request per iteration of the event loop, so that connections are served between two requests.

    Only the thread of the event loop may use it.
    """

    def __init__(self) -> None:
        self._waiting: Lanes[asyncio.Future[None]] = Lanes()
        self._is_taken = False  # whether a request proceeds in this iteration

    async def turn(self, key: Hashable) -> None:
        """Wait for the key's turn; return at once if no other request proceeds in this iteration."""
        loop = asyncio.get_running_loop()
        if self._is_taken:
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.put(key, turn)
            await turn
            return
        self._is_taken = True
        loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        while self._waiting:
            _, turn = self._waiting.take()
            if not turn.done():  # a turn whose waiter was cancelled is done already
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._go_on)
                return
        self._is_taken = False


class Room:
    """Limit on the number of bytes in use at once; only the thread of the event loop may use it."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: Lanes[tuple[int, asyncio.Future[None]]] = Lanes()

    async def take(self, key: Hashable, size: int) -> None:
        """Wait until `size` bytes are free, and take them; waiting keys are served round-robin."""
        if not self._waiting and size <= self._free:
            self._free -= size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put(key, (size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the bytes were granted before the cancellation
                self.give(size)
            raise

    def give(self, size: int) -> None:
        """Release `size` bytes that were taken."""
        self._free += size
        while self._waiting:
            wanted, turn = self._waiting.next()
            if not turn.done() and wanted > self._free:
                return
            self._waiting.take()
            if not turn.done():
                self._free -= wanted
                turn.set_result(None)


class FairThreads:
    """Threads that do blocking work for keys, round-robin, with at most `each` threads for one key at a time.

    Only the thread of the event loop may use it; its coroutines await the results.
    """

    def __init__(self, threads: int, each: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._each = each
        self._busy: Counter[Hashable] = Counter()
        self._waiting: Lanes[asyncio.Future[None]] = Lanes()

    async def run(self, key: Hashable, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work` in a thread when it is the key's turn, and return its result. Raises its exceptions."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.put(key, turn)
        self._start()
        try:
            await turn
            return await loop.run_in_executor(self._executor, work, *arguments)
        finally:  # runs also if the waiter is cancelled, before or after its turn
            if turn.done() and not turn.cancelled():
                self._free += 1
                self._busy[key] -= 1
                if not self._busy[key]:
                    del self._busy[key]
                self._start()

    def _start(self) -> None:
        while self._free and (key := _first(self._waiting, self._busy, self._each)) is not None:
            _, turn = self._waiting.take(key)
            if not turn.done():
                self._free -= 1
                self._busy[key] += 1
                turn.set_result(None)


def _first(keys: Iterable[Hashable], busy: Counter[Hashable], each: int) -> Hashable | None:
    return next((key for key in keys if busy[key] < each), None)
