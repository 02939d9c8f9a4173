# SPDX-License-Identifier: Apache-2.0
"""The queue of writes: every decision and outcome from its reply until it is in the database.

Each uid's writes stay in order, and the uids take turns. All of them together have room for so many bytes; where that
is used up, the uid that uses the most loses its newest write, so that a flood drops nobody's but its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reprise.database.for_daemon import DaemonDatabase
from reprise.database.row_codec import Cell
from reprise.eventlog import Throttle
from reprise.matcher.daemon.turns import Lanes

log = logging.getLogger(__name__)

BACKLOG_BYTES = 64 * 2**20
"""Memory of all writes that wait, at most. It is 9,000 decisions as they usually are, or 40,000 reports: half a day of
5,000 jobs."""
ENTRY_BYTES = 1_536
"""Memory that any write takes while it waits, beside the texts in it (measured: 1.2 to 1.5 KiB for a report)."""
UNMADE_BYTES = 12_288
"""Memory that a decision takes that is not made yet, beside the request (measured: 9 to 12 KiB)."""
MOST_UNMADE = 2048
"""Entries that wait to be made at most; beyond, the oldest is made with each that comes. This is four seconds at 500
submissions a second, and such seconds nearly always have a quiet moment."""
EVERYBODY = -1
"""Whose the writes are that are of several uids: what replicas send."""


@dataclass(frozen=True)
class Entry:
    """Something to be written: a line for the log, the row of a decision, and what else to do with the database (again,
    where a transaction fails, or its file was deleted or replaced meanwhile). `uid`: whose job it is about. `size`:
    bytes of the texts in it.

    In the journal's thread, `written` is called once it is in the database, and `done` is told that it is written or
    never will be (True), or that it could not be written now (False): who hears that has it still, and hands it over
    again. Where there is no room for it, `done` is told in the loop's thread.
    """

    line: str
    write: Callable[[DaemonDatabase], object] | None = None
    decision: Mapping[str, Cell] | None = None
    written: Callable[[], object] | None = None
    done: Callable[[bool], object] | None = None
    uid: int = EVERYBODY
    size: int = 0


MakeEntry = Callable[[], Entry]


@dataclass(frozen=True)
class Unmade:
    """An entry that is still to be made: whose job it is about, and the bytes that it holds until then."""

    uid: int
    size: int
    make: MakeEntry


class _Waiting(NamedTuple):
    since: float  # monotonic
    unmade: Unmade


class Queue:
    """Holds entries that are not made yet, those that are, and those that are being written.

    An entry stays here until it is committed or given up, so all that waits is counted once, in one order for each uid.

    Two threads use it. The loop's thread adds entries and makes those that are not made, the uids in turn. The thread
    of the journal takes made entries for writing, the uids in turn, and puts back what it could not write; it never
    touches an unmade one before the loop has ended, when it makes those that are left. Each method holds the lock for
    the whole of its step, so neither thread sees the other's half done, and only to move references, for microseconds.
    The loop's thread also holds it while it makes an entry, which only delays the journal.

    The loop's thread makes the entries since another thread would take the interpreter away from requests at any time,
    and give it back late.
    """

    def __init__(self) -> None:
        self.dropped = 0  # writes that were given up
        self.new = threading.Event()  # there are lines for `take_lines`
        self._unmade: Lanes[_Waiting] = Lanes()
        self._made: Lanes[Entry] = Lanes()
        self._writing: Sequence[Entry] = ()
        self._lines: list[str] = []  # of entries that were made since they were last taken
        self._held: Counter[int] = Counter()  # bytes by uid, without those that are being written
        self.bytes = 0  # memory that all entries take, about
        self._lock = threading.Lock()
        self._throttle = Throttle()

    def __len__(self) -> int:
        with self._lock:
            return len(self._unmade) + len(self._made) + len(self._writing)

    @property
    def untold(self) -> int:
        """Entries that were made and whose lines were not taken yet."""
        return len(self._lines)

    @property
    def made(self) -> int:
        """Entries that can be taken for writing."""
        return len(self._made)

    def put(self, entry: Entry) -> None:
        """Add an entry whose sender waits for it: before those of its uid that are not made yet. Never waits for the
        database."""
        with self._lock:
            has_room, lost = self._make_room(entry.uid, _size(entry))
            if has_room:
                self._add(entry)
            else:
                lost.append(entry)
        self._give_up(lost)

    def put_unmade(self, unmade: Unmade) -> None:
        """Add an entry that is still to be made. Never waits for the database."""
        with self._lock:
            has_room, lost = self._make_room(unmade.uid, _size(unmade))
            if has_room:
                self._unmade.put(unmade.uid, _Waiting(time.monotonic(), unmade))
                self._hold(unmade)
            else:
                lost.append(unmade)
            too_many = len(self._unmade) > MOST_UNMADE
        self._give_up(lost)
        if too_many:
            self.make_next()

    def unmade_since(self) -> float | None:
        """When the unmade entry that is next in turn was put here (monotonic); None: all are made."""
        with self._lock:
            return self._unmade.next().since if self._unmade else None

    def make_next(self) -> None:
        """Make the unmade entry that is next in turn, which there must be. One that cannot be made is dropped."""
        with self._lock:
            _, (_, unmade) = self._unmade.take()
            self._release(unmade)
            try:
                self._add(unmade.make())
                return
            except Exception as error:  # a defect costs this one
                self._throttle.warning(log, "write-failed", trace=True, error=error)
                why = str(error)
        self.drop(why)

    def take_lines(self) -> Sequence[str]:
        """The lines of the entries that were made since the last call."""
        self.new.clear()  # before the lines are looked at, so that an entry made meanwhile sets it again
        with self._lock:
            lines, self._lines = self._lines, []
        return lines

    def begin(self, count: int) -> Sequence[Entry]:
        """Take at most so many made entries for writing, the uids in turn. They count until they are settled."""
        with self._lock:
            taken = [self._made.take()[1] for _ in range(min(count, len(self._made)))]
            for entry in taken:
                self._release(entry)
            self._writing = taken
            self.bytes += sum(map(_size, taken))
        return taken

    def settle(self, left: Sequence[Entry] = ()) -> None:
        """Forget the entries that were taken for writing, except those that are `left` to be written: these come first
        again."""
        with self._lock:
            self.bytes -= sum(map(_size, self._writing))
            self._writing = ()
            for entry in reversed(left):
                self._made.put_back(entry.uid, (entry,))
                self._hold(entry)

    def drop(self, why: str, count: int = 1, uid: int | None = None) -> None:
        """Count and log writes that were given up. `uid`: whose, where it is one's."""
        with self._lock:
            self.dropped += count
        self._throttle.warning(log, "dropped", total=self.dropped, uid=uid, error=why)

    def _give_up(self, lost: Sequence[Entry | Unmade]) -> None:
        """Say that there is no room for these: to their senders, who have them still, or in the log."""
        for one in lost:
            if isinstance(one, Entry) and one.done:
                one.done(False)
            else:
                self.drop("the queue of writes is full", uid=one.uid)

    # --- with the lock held

    def _make_room(self, uid: int, size: int) -> tuple[bool, list[Entry | Unmade]]:
        """Whether there is room for a write of the uid, and what had to go for it: the newest writes of whoever uses
        the most. There is none where that is, with this write, the uid itself."""
        lost: list[Entry | Unmade] = []
        while self.bytes + size > BACKLOG_BYTES:
            most = max(self._held, key=self._held.__getitem__, default=uid)
            if self._held[most] <= self._held[uid] + size:
                return False, lost
            waiting = self._unmade.take_newest(most)
            newest = waiting.unmade if waiting else self._made.take_newest(most)
            assert newest is not None  # noqa: S101 - or it would hold nothing
            self._release(newest)
            lost.append(newest)
        return True, lost

    def _add(self, entry: Entry) -> None:
        self._made.put(entry.uid, entry)
        self._hold(entry)
        self._lines.append(entry.line)
        if not self.new.is_set():
            self.new.set()

    def _hold(self, one: Entry | Unmade) -> None:
        size = _size(one)
        self._held[one.uid] += size
        self.bytes += size

    def _release(self, one: Entry | Unmade) -> None:
        size = _size(one)
        self._held[one.uid] -= size
        self.bytes -= size
        if not self._held[one.uid]:
            del self._held[one.uid]


def _size(one: Entry | Unmade) -> int:
    return (ENTRY_BYTES if isinstance(one, Entry) else UNMADE_BYTES) + one.size
