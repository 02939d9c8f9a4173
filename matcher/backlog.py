# SPDX-License-Identifier: Apache-2.0
"""What is to be written to the database and is not yet: it waits, in order, while the database cannot take it."""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from database import Database
from database.errors import (
    AccessError,
    BusyError,
    DatabaseError,
    FileSystemError,
    InvalidValueError,
    MissingError,
    NotADatabaseError,
    NotFoundError,
    SchemaError,
    StorageError,
)
from database.rows import Cell
from matcher.eventlog import Throttle

log = logging.getLogger(__name__)

BATCH = 256  # writes in one transaction at most
RETRY_S = 0.5  # between attempts to write what the database could not take

# Whatever is to be written, it cannot be now. Other errors of the database may be of the one place that a write needs.
PASSING = (
    BusyError,
    StorageError,
    MissingError,
    AccessError,
    NotADatabaseError,
    SchemaError,
    FileSystemError,
)


@dataclass(frozen=True)
class Entry:
    """Something to be written: a line for the log, the row of a decision, and what else to do with the database (again,
    where a transaction fails, or its file was deleted or replaced meanwhile).

    In the journal's thread, `written` is called once it is in the database, and `done` is told that it is written or
    never will be (True), or that it could not be written now (False): who hears that has it still, and hands it over
    again.
    """

    line: str
    write: Callable[[Database], object] | None = None
    decision: Mapping[str, Cell] | None = None
    written: Callable[[], object] | None = None
    done: Callable[[bool], object] | None = None


Write = Callable[[Database, Sequence[Entry]], None]


class _NotNowError(Exception):
    """Nothing can be written: `why`."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Backlog:
    """For the journal's thread, but for `len` and `drop`.

    `current` gives the database, opened anew where its file was deleted or replaced; it raises a DatabaseError.
    """

    def __init__(self, current: Callable[[], Database], throttle: Throttle) -> None:
        self.dropped = 0
        self._current = current
        self._throttle = throttle
        self._entries: deque[Entry] = deque()
        self._retry_at = 0.0  # monotonic

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entries: Iterable[Entry]) -> None:
        """Have these written after all others."""
        self._entries.extend(entries)

    def is_due(self) -> bool:
        """Whether there is something to write, and the database may be able to take it again."""
        return bool(self._entries) and time.monotonic() >= self._retry_at

    def write_some(self, also_waiting: int = 0) -> Exception | None:
        """Write what has waited longest. None, or why nothing can be written: then all of it waits, with `also_waiting`
        that are not here yet, and one line of the log in a while says so."""
        entries = list(itertools.islice(self._entries, BATCH))
        left, why = self._written(entries)
        for _ in entries:
            self._entries.popleft()
        self._entries.extendleft(reversed(left))
        if why:
            self._put_off(why, also_waiting)
        return why

    def drop(self, why: str, count: int = 1) -> None:
        """Say that so many were given up."""
        self.dropped += count
        self._throttle.warning(log, "dropped", total=self.dropped, error=why)

    def give_up(self, why: str) -> None:
        """Drop all that waits."""
        if self._entries:
            self.drop(why, len(self._entries))
            self._tell(self._entries, done=False)
            self._entries.clear()

    def _written(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """Write all in one transaction. Returns what the database cannot take now, and why."""
        try:
            self._commit(entries, _write)
        except _NotNowError as error:
            return entries, error.why
        except Exception:  # one of them is at fault, and shall not cost the others
            return self._one_by_one(entries)
        return (), None

    def _one_by_one(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """The same, each in its own transaction. One that fails as if the database were damaged waits where no other
        could be written, and is dropped where one was: the place that it needs is damaged, and shall not cost more."""
        damaged: list[tuple[Entry, DatabaseError]] = []
        written = 0
        for number, entry in enumerate(entries):
            try:
                self._commit([entry], _write_late)
                written += 1
            except _NotNowError as error:
                return [*(one for one, _ in damaged), *entries[number:]], error.why
            except Exception as error:  # a defect in a write must not end the thread that does all others
                if isinstance(error, DatabaseError) and not isinstance(error, InvalidValueError | NotFoundError):
                    damaged.append((entry, error))
                    continue
                if not isinstance(error, DatabaseError):
                    self._throttle.warning(log, "write-failed", trace=True, error=error)
                self.drop(str(error))
                self._tell([entry], done=True)
        if damaged and not written:
            return [one for one, _ in damaged], damaged[0][1]
        for one, why in damaged:
            self.drop(str(why))
            self._tell([one], done=False)
        return (), None

    def _commit(self, entries: Sequence[Entry], write: Write) -> None:
        """Raises _NotNowError, or what an entry is at fault for."""
        database = self._usable()
        try:
            with database.transaction():
                write(database, entries)
        except PASSING as error:
            raise _NotNowError(error) from error
        if self._usable() is not database:
            raise _NotNowError(MissingError(f"{database.path}: was replaced while it was written to"))
        for entry in entries:
            if entry.written:
                entry.written()
        self._tell(entries, done=True)

    def _usable(self) -> Database:
        try:
            return self._current()
        except Exception as error:  # of the database, or a defect in taking its records: no entry is at fault
            raise _NotNowError(error) from error

    def _put_off(self, why: Exception, also_waiting: int) -> None:
        theirs = [entry for entry in self._entries if entry.done]  # they come again, and would be here many times
        self._entries = deque(entry for entry in self._entries if not entry.done)
        self._tell(theirs, done=False)
        waiting = len(self) + also_waiting
        if isinstance(why, BusyError):
            self._throttle.warning(log, "database-locked", waiting=waiting, error=why)
        else:
            self._throttle.warning(log, "writes-wait", waiting=waiting, error=why)
        self._retry_at = time.monotonic() + RETRY_S

    def _tell(self, entries: Iterable[Entry], *, done: bool) -> None:
        for entry in entries:
            if entry.done:
                entry.done(done)


def _write(database: Database, entries: Sequence[Entry]) -> None:
    """In their order, but for decisions that follow each other: these are added at once."""
    for decided, some in itertools.groupby(entries, key=lambda entry: entry.decision is not None):
        run = list(some)
        if decided:
            database.add_decision_rows([entry.decision for entry in run if entry.decision is not None])
        for entry in run:
            if entry.write:
                entry.write(database)


def _write_late(database: Database, entries: Sequence[Entry]) -> None:
    """The same, where that has failed: another database may have taken the place of the one that they were made by, and
    have no record that a decision names, or the decision already."""
    for entry in entries:
        if entry.decision is not None:
            database.take_decision_row(entry.decision)
        if entry.write:
            entry.write(database)
