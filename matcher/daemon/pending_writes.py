# SPDX-License-Identifier: Apache-2.0
"""The queue of writes: every decision and outcome from its reply until it is in the database, in order."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reprise.database.for_daemon import DaemonDatabase
from reprise.database.row_codec import Cell
from reprise.eventlog import Throttle

log = logging.getLogger(__name__)

CAPACITY = 8192
"""Writes that wait at most, some 50 MB: at three writes a job, 5 s of 500 submissions/s, or half a day of 5,000."""
MOST_UNMADE = 2048
"""Entries that wait to be made at most; beyond, the oldest is made with each that comes. This is four seconds at 500
submissions a second, and such seconds nearly always have a quiet moment."""


@dataclass(frozen=True)
class Entry:
    """Something to be written: a line for the log, the row of a decision, and what else to do with the database (again,
    where a transaction fails, or its file was deleted or replaced meanwhile).

    In the journal's thread, `written` is called once it is in the database, and `done` is told that it is written or
    never will be (True), or that it could not be written now (False): who hears that has it still, and hands it over
    again.
    """

    line: str
    write: Callable[[DaemonDatabase], object] | None = None
    decision: Mapping[str, Cell] | None = None
    written: Callable[[], object] | None = None
    done: Callable[[bool], object] | None = None


MakeEntry = Callable[[], Entry]


class _Unmade(NamedTuple):
    since: float  # monotonic
    make: MakeEntry


class Queue:
    """Holds entries that are taken for writing, then those that are made, then those that are not made yet.

    An entry stays here until it is committed or given up, so all that waits is counted once, in one order.

    Two threads use it. The loop's thread adds entries and makes the oldest unmade one in its place; it never touches a
    made entry. The journal's thread takes made entries, and removes those that it has committed; it never touches an
    unmade one before the loop has ended, when it makes those that are left. Each method holds the lock for the whole of
    its step, so neither thread sees the other's half done. The journal's thread holds it to move references, never
    while it writes: for microseconds, or a millisecond when the queue is full and the database fails. The loop's
    thread also holds it while it makes an entry, which only delays the journal.

    The loop's thread makes the entries since another thread would take the interpreter away from requests at any time,
    and give it back late.
    """

    def __init__(self) -> None:
        self.dropped = 0  # writes that were given up
        self.new = threading.Event()  # there are entries for `take`
        self.made = 0  # entries that are made; they are at the left
        self.taken = 0  # of these, at the left, that were taken for writing and wait for it
        self._entries: deque[Entry | _Unmade] = deque()
        self._lock = threading.Lock()
        self._throttle = Throttle()

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def put(self, entry: Entry) -> None:
        """Add an entry whose sender waits for it: before those that are not made yet. Never waits for the database."""
        if self._has_room():
            with self._lock:
                self._entries.insert(self.made, entry)
                self._count_made()

    def put_unmade(self, make: MakeEntry) -> None:
        """Add an entry that is still to be made. Never waits for the database."""
        if self._has_room():
            with self._lock:
                self._entries.append(_Unmade(time.monotonic(), make))
                too_many = len(self._entries) - self.made > MOST_UNMADE
            if too_many:
                self.make_oldest()

    def unmade_since(self) -> float | None:
        """When the oldest unmade entry was put here (monotonic); None: all are made."""
        with self._lock:
            oldest = self._entries[self.made] if self.made < len(self._entries) else None
        return oldest.since if isinstance(oldest, _Unmade) else None

    def make_oldest(self) -> None:
        """Make the oldest unmade entry, which there must be. One that cannot be made is dropped."""
        with self._lock:
            unmade = self._entries[self.made]
            assert isinstance(unmade, _Unmade)  # noqa: S101
            try:
                self._entries[self.made] = unmade.make()
                self._count_made()
                return
            except Exception as error:  # a defect costs this one
                del self._entries[self.made]
                self._throttle.warning(log, "write-failed", trace=True, error=error)
                why = str(error)
        self.drop(why)

    def take(self) -> Sequence[Entry]:
        """The entries that were made since the last call; they are now written in their turn."""
        self.new.clear()  # before the queue is looked at, so that an entry made meanwhile sets it again
        with self._lock:
            entries = self._slice(self.taken, self.made)
            self.taken = self.made
        return entries

    def oldest(self, count: int | None = None) -> Sequence[Entry]:
        """So many of the taken entries, or all, from the oldest on. They stay here."""
        with self._lock:
            return self._slice(0, self.taken if count is None else min(count, self.taken))

    def settle(self, count: int, left: Sequence[Entry] = ()) -> None:
        """Remove so many of the oldest taken entries, except those that are `left` to be written."""
        with self._lock:
            for _ in range(count):
                self._entries.popleft()
            self._entries.extendleft(reversed(left))
            self.made -= count - len(left)
            self.taken -= count - len(left)

    def drop(self, why: str, count: int = 1) -> None:
        """Count and log writes that were given up."""
        with self._lock:
            self.dropped += count
        self._throttle.warning(log, "dropped", total=self.dropped, error=why)

    def _has_room(self) -> bool:
        if len(self) < CAPACITY:
            return True
        self.drop("the queue of writes is full")
        return False

    def _count_made(self) -> None:
        self.made += 1
        if not self.new.is_set():
            self.new.set()

    def _slice(self, first: int, last: int) -> list[Entry]:
        return [one for one in itertools.islice(self._entries, first, last) if isinstance(one, Entry)]
