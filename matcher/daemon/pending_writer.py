# SPDX-License-Identifier: Apache-2.0
"""Write queued entries to the database, uids in turn. Entries that the database cannot take now stay in the queue."""

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

BATCH = 256  # most writes in one transaction
RETRY_S = 0.5  # seconds between attempts while the database cannot take writes

# Errors that affect every write. Other database errors may affect only the page that one write needs.
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
    """Nothing can be written now, because of `why`."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Writer:
    """Writer of the queue's entries, for the journal's thread only.

    `current` returns the database, and reopens it if its file was deleted or replaced. It raises a DatabaseError.
    """

    def __init__(self, queue: Queue, current: Callable[[], DaemonDatabase]) -> None:
        self._queue = queue
        self._current = current
        self._throttle = Throttle()
        self._retry_at = 0.0  # monotonic

    def is_due(self) -> bool:
        """Return whether entries wait and it is time to write, or to try again."""
        return self._queue.made > 0 and time.monotonic() >= self._retry_at

    def write_some(self) -> Exception | None:
        """Write some entries. Return None, or the reason why nothing can be written.

        On failure, entries stay in the queue, except those that their senders will send again, and a rate-limited log
        line gives the reason.
        """
        entries = self._queue.begin(BATCH)
        left, why = self._written(entries)
        if why:
            # senders with a `done` callback send their entries again; keeping them would duplicate them
            self._queue.settle([entry for entry in left if not entry.done])
            _report(left, done=False)
            self._put_off(why)
        else:
            self._queue.settle(left)
        return why

    def give_up(self, why: str) -> None:
        """Drop all made entries."""
        entries = self._queue.begin(self._queue.made)
        if entries:
            self._queue.settle()
            self._queue.drop(why, len(entries))
            _report(entries, done=False)

    def _written(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """Write all entries in one transaction. Return those that the database cannot take now, and why."""
        try:
            self._commit(entries, _write)
        except _NotNowError as error:
            return entries, error.why
        except Exception:  # one entry is at fault, and must not cost the others
            return self._one_by_one(entries)
        return (), None

    def _one_by_one(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """Write each entry in its own transaction. Return those that the database cannot take now, and why.

        If an entry fails as if the database were damaged, it waits if no other entry could be written either. If one
        could, the entry is dropped: only the part of the file that it needs is damaged.
        """
        damaged: list[tuple[Entry, DatabaseError]] = []
        written = 0
        for number, entry in enumerate(entries):
            try:
                self._commit([entry], _write_late)
                written += 1
            except _NotNowError as error:
                return [*(one for one, _ in damaged), *entries[number:]], error.why
            except Exception as error:  # a defect in one write must not end the thread
                if isinstance(error, DatabaseError) and not isinstance(error, InvalidValueError | NotFoundError):
                    damaged.append((entry, error))
                    continue
                if not isinstance(error, DatabaseError):
                    self._throttle.warning(log, "write-failed", trace=True, error=error)
                self._queue.drop(str(error))
                _report([entry], done=True)
        if damaged and not written:
            return [one for one, _ in damaged], damaged[0][1]
        for one, why in damaged:
            self._queue.drop(str(why))
            _report([one], done=False)
        return (), None

    def _commit(self, entries: Sequence[Entry], write: Write) -> None:
        """Write entries in one transaction. Raises _NotNowError, or the error of the entry at fault."""
        database = self._usable()
        try:
            with database.transaction():
                write(database, entries)
        except PASSING as error:
            raise _NotNowError(error) from error
        if self._usable() is not database:
            raise _NotNowError(MissingError(f"{database.path}: replaced during a write"))
        for entry in entries:
            if entry.written:
                entry.written()
        _report(entries, done=True)

    def _usable(self) -> DaemonDatabase:
        try:
            return self._current()
        except Exception as error:  # the database fails, or reading its records does: no entry is at fault
            raise _NotNowError(error) from error

    def _put_off(self, why: Exception) -> None:
        if isinstance(why, BusyError):
            self._throttle.warning(log, "database-locked", waiting=len(self._queue), error=why)
        else:
            self._throttle.warning(log, "writes-wait", waiting=len(self._queue), error=why)
        self._retry_at = time.monotonic() + RETRY_S


def _report(entries: Iterable[Entry], *, done: bool) -> None:
    for entry in entries:
        if entry.done:
            entry.done(done)


def _write(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """Write entries in order; decisions that follow each other are inserted together."""
    for decided, some in itertools.groupby(entries, key=lambda entry: entry.decision is not None):
        run = list(some)
        if decided:
            database.add_decision_rows([entry.decision for entry in run if entry.decision is not None])
        for entry in run:
            if entry.write:
                entry.write(database)


def _write_late(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """Write entries after `_write` has failed.

    The database may have been replaced: the new one may lack a decision's record, or have the decision already.
    """
    for entry in entries:
        if entry.decision is not None:
            database.take_decision_row(entry.decision)
        if entry.write:
            entry.write(database)
