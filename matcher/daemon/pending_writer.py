# SPDX-License-Identifier: Apache-2.0
"""Writer of queued entries to the database. Uids take turns; entries that fail temporarily stay in the queue."""

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
from reprise.matcher.daemon.told_admins import Admins

log = logging.getLogger(__name__)

BATCH = 256  # maximum number of writes in one transaction
RETRY_S = 0.5  # seconds between attempts while the database cannot take writes

# Errors that affect every write. Other database errors may affect only those pages of the file that one write needs.
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
    """No entry can be written at present, because of the error `why`."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Writer:
    """Writer of the queue's entries; only the journal's thread may use it.

    `current` returns the open database, after reopening it if the file was deleted or replaced. It may raise a
    DatabaseError. `admins` are notified if entries wait for too long.
    """

    def __init__(self, queue: Queue, current: Callable[[], DaemonDatabase], admins: Admins | None = None) -> None:
        self._admins = admins
        self._queue = queue
        self._current = current
        self._throttle = Throttle()
        self._retry_at = 0.0  # time.monotonic

    def is_due(self) -> bool:
        """Return whether entries are waiting and may be written now; after a failure, they wait for RETRY_S seconds."""
        return self._queue.made > 0 and time.monotonic() >= self._retry_at

    def write_some(self) -> Exception | None:
        """Write some entries; return None, or the error that prevents writing at present.

        After such an error, entries stay in the queue, except those that their senders will send again. A rate-limited
        log line names the error.
        """
        entries = self._queue.begin(BATCH)
        left, why = self._written(entries)
        if why:
            # entries with a `done` callback are sent again by their senders, so keeping them would duplicate them
            self._queue.settle([entry for entry in left if not entry.done])
            _report(left, done=False)
            self._put_off(why)
        else:
            self._queue.settle(left)
        return why

    def give_up(self, why: str) -> None:
        """Drop all entries that are ready for writing, and log the reason."""
        entries = self._queue.begin(self._queue.made)
        if entries:
            self._queue.settle()
            self._queue.drop(why, len(entries))
            _report(entries, done=False)

    def _written(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """Write all entries in one transaction; return the entries that cannot be written at present, and the error."""
        try:
            self._commit(entries, _write)
        except _NotNowError as error:
            return entries, error.why
        except Exception:  # one entry caused the error; the others must still be written
            return self._one_by_one(entries)
        return (), None

    def _one_by_one(self, entries: Sequence[Entry]) -> tuple[Sequence[Entry], Exception | None]:
        """Write each entry in its own transaction; return the entries that cannot be written at present, and the error.

        An entry may fail because the database seems to be damaged. If other entries can be written, only the part of
        the file that this entry needs is damaged, and the entry is dropped. If no entry can be written, the entry is
        kept.
        """
        damaged: list[tuple[Entry, DatabaseError]] = []
        written = 0
        for number, entry in enumerate(entries):
            try:
                self._commit([entry], _write_late)
                written += 1
            except _NotNowError as error:
                return [*(one for one, _ in damaged), *entries[number:]], error.why
            except Exception as error:  # an error in one write must not end the thread
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
        """Write entries in one transaction. Raises _NotNowError, or the error of the entry that cannot be written."""
        database = self._usable()
        try:
            with database.transaction():
                write(database, entries)
        except PASSING as error:
            raise _NotNowError(error) from error
        if self._usable() is not database:
            raise _NotNowError(MissingError(f"{database.path}: replaced during a write"))
        if self._admins:
            self._admins.writes_done()
        for entry in entries:
            if entry.written:
                entry.written()
        _report(entries, done=True)

    def _usable(self) -> DaemonDatabase:
        try:
            return self._current()
        except Exception as error:  # opening the database or reading its records failed, so no entry caused the error
            raise _NotNowError(error) from error

    def _put_off(self, why: Exception) -> None:
        if isinstance(why, BusyError):
            self._throttle.warning(log, "database-locked", waiting=len(self._queue), error=why)
        else:
            self._throttle.warning(log, "writes-wait", waiting=len(self._queue), error=why)
        self._retry_at = time.monotonic() + RETRY_S
        if self._admins:
            self._admins.writes_wait(len(self._queue), str(why))


def _report(entries: Iterable[Entry], *, done: bool) -> None:
    for entry in entries:
        if entry.done:
            entry.done(done)


def _write(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """Write entries in order; consecutive decisions are inserted together."""
    for decided, some in itertools.groupby(entries, key=lambda entry: entry.decision is not None):
        run = list(some)
        if decided:
            database.add_decision_rows([entry.decision for entry in run if entry.decision is not None])
        for entry in run:
            if entry.write:
                entry.write(database)


def _write_late(database: DaemonDatabase, entries: Sequence[Entry]) -> None:
    """Write entries after `_write` has failed, in a way that tolerates a replaced database.

    The new database may lack the record of a decision, or may contain the decision already.
    """
    for entry in entries:
        if entry.decision is not None:
            database.take_decision_row(entry.decision)
        if entry.write:
            entry.write(database)
