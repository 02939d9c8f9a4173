# SPDX-License-Identifier: Apache-2.0
"""Queue of the decisions, outcomes and other rows that are not yet written to the database.

Each uid's writes stay in order, and the uids take turns. The queue's total size is bounded in bytes. If the queue is
full, the uid that uses the most memory loses its newest write. Thus a user who sends too many requests loses only their
own writes.
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
"""Maximum memory of waiting writes, in bytes.

This is enough for 9,000 typical decisions, or for 40,000 reports, which is the number that 5,000 jobs send in half a
day.
"""
ENTRY_BYTES = 1_536
"""Bytes of memory that a waiting write takes in addition to its texts; 1.2 to 1.5 KiB were measured for a report."""
UNMADE_BYTES = 12_288
"""Bytes of memory that a decision takes while its entry is still to be made, in addition to its request.

9 to 12 KiB were measured.
"""
MOST_UNMADE = 2048
"""Maximum number of unmade entries (entries still to be made); each one beyond it causes the next one to be made.

This number is reached after four seconds with 500 submissions a second, and such a period nearly always includes a
pause in which entries can be made.
"""
EVERYBODY = -1
"""Uid of writes that concern several uids, which only replicas send."""


@dataclass(frozen=True)
class Entry:
    """A write that is ready: a line for the log, the row of a decision, and a function that writes the rest.

    `write` is called again if a transaction fails, or if the database's file was deleted or replaced meanwhile. `uid`
    is the job's owner. `size` is the number of bytes of the texts in the entry.

    `written` is called in the journal's thread when the entry is in the database. `done` is called with True if the
    entry has been written or never will be. It is called with False if the entry cannot be written at present; the
    sender still has the entry and sends it again. `done` is called in the journal's thread, or in the loop's thread if
    the queue has no room for the entry.
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
    """An entry that is still to be made, with its job's uid, its request's size in bytes, and a function to make it."""

    uid: int
    size: int
    make: MakeEntry


class _Waiting(NamedTuple):
    since: float  # time.monotonic
    unmade: Unmade


class Queue:
    """Queue of entries. An entry is unmade (still to be made), made, or being written.

    An entry stays in the queue until it is committed or given up. Thus every waiting write is counted exactly once, and
    each uid's writes stay in order.

    Two threads use the queue. The event loop's thread adds entries, and makes the unmade ones. The journal's thread
    takes made entries for writing, and puts back entries that it could not write. Both threads serve the uids
    round-robin. After the loop has ended, the journal's thread also makes the remaining unmade entries. Each method
    holds the lock throughout, so that neither thread sees a half-done step of the other. Methods hold the lock for
    microseconds, to move references; only `make_next` holds the lock longer, while it makes an entry. This delays only
    the journal.

    Entries are made in the loop's thread, because another thread could take the interpreter lock at any time, and
    requests would have to wait for the lock.
    """

    def __init__(self) -> None:
        self.dropped = 0  # number of writes that were dropped
        self.new = threading.Event()  # set while there are lines for `take_lines`
        self._unmade: Lanes[_Waiting] = Lanes()
        self._made: Lanes[Entry] = Lanes()
        self._writing: Sequence[Entry] = ()
        self._lines: list[str] = []  # log lines of entries that were made since the last `take_lines`
        self._held: Counter[int] = Counter()  # bytes of each uid's entries, except entries that are being written
        self.bytes = 0  # approximate memory of all entries
        self._lock = threading.Lock()
        self._throttle = Throttle()

    def __len__(self) -> int:
        with self._lock:
            return len(self._unmade) + len(self._made) + len(self._writing)

    @property
    def untold(self) -> int:
        """Number of made entries whose log lines `take_lines` has not returned yet."""
        return len(self._lines)

    @property
    def made(self) -> int:
        """Number of entries that can be taken for writing."""
        return len(self._made)

    def put(self, entry: Entry) -> None:
        """Add an entry that is ready for writing. Never waits for the database.

        It goes before the entries of its uid that are still to be made, because a client waits for it.
        """
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
        """Return the time at which the next unmade entry was queued (time.monotonic); None if there is none."""
        with self._lock:
            return self._unmade.next().since if self._unmade else None

    def make_next(self) -> None:
        """Make the next unmade entry, which must exist; an entry that cannot be made is dropped."""
        with self._lock:
            _, (_, unmade) = self._unmade.take()
            self._release(unmade)
            try:
                self._add(unmade.make())
                return
            except Exception as error:  # a bug must affect this entry only
                self._throttle.warning(log, "write-failed", trace=True, error=error)
                why = str(error)
        self.drop(why)

    def take_lines(self) -> Sequence[str]:
        """Return the log lines of entries that were made since the last call."""
        self.new.clear()  # cleared before the lines are taken, so that an entry made meanwhile sets the event again
        with self._lock:
            lines, self._lines = self._lines, []
        return lines

    def begin(self, count: int) -> Sequence[Entry]:
        """Take up to `count` made entries, round-robin by uid; they count as waiting until `settle` is called."""
        with self._lock:
            taken = [self._made.take()[1] for _ in range(min(count, len(self._made)))]
            for entry in taken:
                self._release(entry)
            self._writing = taken
            self.bytes += sum(map(_size, taken))
        return taken

    def settle(self, left: Sequence[Entry] = ()) -> None:
        """Remove the entries that were taken for writing, but put the entries in `left` back at the front."""
        with self._lock:
            self.bytes -= sum(map(_size, self._writing))
            self._writing = ()
            for entry in reversed(left):
                self._made.put_back(entry.uid, (entry,))
                self._hold(entry)

    def drop(self, why: str, count: int = 1, uid: int | None = None) -> None:
        """Count and log writes that were dropped; `uid` is their uid if all have the same one."""
        with self._lock:
            self.dropped += count
        self._throttle.warning(log, "dropped", total=self.dropped, uid=uid, error=why)

    def _give_up(self, lost: Sequence[Entry | Unmade]) -> None:
        """Report entries that did not fit in the queue: to senders that can send them again, or else in the log."""
        for one in lost:
            if isinstance(one, Entry) and one.done:
                one.done(False)
            else:
                self.drop("the queue of writes is full", uid=one.uid)

    # --- with the lock held

    def _make_room(self, uid: int, size: int) -> tuple[bool, list[Entry | Unmade]]:
        """Make room for a write of the uid; return whether there is room, and the entries that were removed.

        The newest entries of the uid that uses the most memory are removed. There is no room if, with this write, the
        given uid itself would use the most memory.
        """
        lost: list[Entry | Unmade] = []
        while self.bytes + size > BACKLOG_BYTES:
            most = max(self._held, key=self._held.__getitem__, default=uid)
            if self._held[most] <= self._held[uid] + size:
                return False, lost
            waiting = self._unmade.take_newest(most)
            newest = waiting.unmade if waiting else self._made.take_newest(most)
            assert newest is not None  # noqa: S101 - a uid with bytes in the queue has an entry
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
