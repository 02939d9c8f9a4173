# SPDX-License-Identifier: Apache-2.0
"""Writes entries of the queue to the database, the uids in turn. Those that it cannot take now stay in the queue."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from reprise.database.errors import (
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
from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import Throttle
from reprise.matcher.daemon.pending_writes import Entry, Queue

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


Write = Callable[[DaemonDatabase, Sequence[Entry]], None]


class _NotNowError(Exception):
    """Nothing can be written: `why`."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Writer:
    """For the journal's thread. `current` gives the database, opened anew where its file was deleted or replaced; it
    raises a DatabaseError.
    """

    def __init__(self, queue: Queue, current: Callable[[], DaemonDatabase]) -> None:
        self._queue = queue
        self._current = current
        self._throttle = Throttle()
        self._retry_at = 0.0  # monotonic

    def is_due(self) -> bool:
        """Whether there is something to write, and the database may be able to take it again."""
        return self._queue.made > 0 and time.monotonic() >= self._retry_at

    def write_some(self) -> Exception | None:
        """Write some entries. None, or why nothing can be written: all of them stay in the queue then, but for those
        that their senders keep, and one line of the log in a while says so."""
        entries = self._queue.begin(BATCH)
        left, why = self._written(entries)
        if why:
            # those whose sender keeps them come again, and would be here many times
            self._queue.settle([entry for entry in left if not entry.done])
            _tell(left, done=False)
            self._put_off(why)
        else:
            self._queue.settle(left)
        return why

    def give_up(self, why: str) -> None:
        """Drop all entries that are made."""
        entries = self._queue.begin(self._queue.made)
        if entries:
            self._queue.settle()
            self._queue.drop(why, len(entries))
            _tell(entries, done=False)

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
                self._queue.drop(str(error))
                _tell([entry], done=True)
        if damaged and not written:
            return [one for one, _ in damaged], damaged[0][1]
        for one, why in damaged:
            self._queue.drop(str(why))
            _tell([one], done=False)
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
        _tell(entries, done=True)

    def _usable(self) -> DaemonDatabase:
        try:
            return self._current()
        except Exception as error:  # of the database, or a defect in taking its records: no entry is at fault
            raise _NotNowError(error) from error

    def _put_off(self, why: Exception) -> None:
        if isinstance(why, BusyError):
            self._throttle.warning(log, "database-locked", waiting=len(self._queue), error=why)
        else:
            self._throttle.warning(log, "writes-wait", waiting=len(self._queue), error=why)
        self._retry_at = time.monotonic() + RETRY_S


def _tell(entries: Iterable[Entry], *, done: bool) -> None:
    for entry in entries:
        if entry.done:
            entry.done(done)


def _write(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """In their order, but for decisions that follow each other: these are added at once."""
    for decided, some in itertools.groupby(entries, key=lambda entry: entry.decision is not None):
        run = list(some)
        if decided:
            database.add_decision_rows([entry.decision for entry in run if entry.decision is not None])
        for entry in run:
            if entry.write:
                entry.write(database)


def _write_late(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """The same, where that has failed: another database may have taken the place of the one that they were made by, and
    have no record that a decision names, or the decision already."""
    for entry in entries:
        if entry.decision is not None:
            database.take_decision_row(entry.decision)
        if entry.write:
            entry.write(database)
