# SPDX-License-Identifier: Apache-2.0
"""The daemon's database thread, which owns the connection, writes queued entries, and polls for new records.

Requests never wait for this thread. If entries cannot be written because the database is locked, damaged or missing, or
because the disk is full, they stay in the queue.

Entries that are made within LINGER_S are written in one transaction, because waking the thread and syncing the disk for
each decision would cost as much as the decision itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from reprise.database.entities import RecordText
from reprise.database.errors import BusyError, DatabaseError
from reprise.database.for_daemon import DaemonDatabase
from reprise.database.service_runs import TOUCH_INTERVAL_S
from reprise.database.store import identity_of
from reprise.eventlog import Throttle, line
from reprise.matcher.daemon.pending_writer import BATCH, Writer
from reprise.matcher.daemon.pending_writes import Queue
from reprise.matcher.daemon.told_admins import Admins

log = logging.getLogger(__name__)

# Seconds to wait for a lock on the database. After that, a log line is written and the write is retried later, so that
# other work is not delayed.
BUSY_TIMEOUT_S = 1.0
LINGER_S = 0.05  # seconds to wait for more writes; if the daemon is killed, waiting writes are lost
POLL_S = 0.5  # seconds between polls for new records, so that new records are used within a second
PURGE_S = 86_400.0
PURGE_ROWS = 2_000  # rows of each table deleted in one transaction, which takes some 0.1 s; other work runs in between
DRAIN_S = 8.0  # seconds for the last writes when the daemon stops; systemd kills the daemon after 15 s (TimeoutStopSec)


class OnRecords(Protocol):
    """Type of a function that is called when records have changed."""

    def __call__(self, changed: Iterable[RecordText], gone: Sequence[int], *, all_of_them: bool) -> None:
        """Add or replace the records `changed`, and remove the records with the ids `gone`.

        If `all_of_them`, `changed` has all records and replaces the old ones.
        """


class Journal:
    """Thread that writes the entries of `queue` to the database.

    When records change, `on_records` is called with them. Every POLL_S seconds, `on_look` is called with the database.
    Both functions are called in the journal's thread.

    `start` raises a DatabaseError if the database cannot be opened. Later failures delay entries; entries are lost if
    the queue is full, or if they cannot be written before the daemon stops. No request ever fails because of such
    failures.
    """

    def __init__(
        self,
        path: Path,
        queue: Queue,
        on_records: OnRecords,
        *,
        version: str,
        retention_days: int,
        on_look: Callable[[DaemonDatabase], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        admins: Admins | None = None,
    ) -> None:
        self._path = path
        self._on_records = on_records
        self._on_look = on_look
        self._version = version
        self._retention_s = retention_days * 86_400.0
        self._clock = clock
        self.queue = queue
        self._stopping = threading.Event()
        self._reload = threading.Event()
        self._throttle = Throttle()
        self._writer = Writer(queue, self._current, admins)
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._database: DaemonDatabase | None = None
        self._identity: tuple[int, int] | None = None
        self._seen: int | None = None  # sequence number of the last record change that was read, if any
        self._service_run = 0
        self._forgetting: float | None = None  # rows before this time are being purged
        self._forgotten = 0  # rows that the current purge has removed
        self._known_time = 0.0  # time of the previous purge; before the first purge, the time when a daemon last ran
        self._due = {"poll": 0.0, "touch": 0.0, "purge": 0.0}  # times of time.monotonic

    def start(self, seen: int | None = None) -> None:
        """Open the database, pass the records to `on_records`, record the daemon's start, and start the thread.

        `seen` is the sequence number of the last record change that has already been loaded; None if no records have
        been loaded.
        """
        self._open(seen)
        self._thread.start()

    def reload(self) -> None:
        """Pass all records to `on_records` again, whether they have changed or not."""
        self._reload.set()

    def stop(self) -> None:
        """Write the remaining entries, record the daemon's end, and close the database."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self.queue.new.wait(0.0 if self._writer.is_due() else POLL_S / 2):
                if self.queue.untold < BATCH:
                    self._stopping.wait(LINGER_S)
                self._log_lines()
            if self._writer.is_due():
                self._writer.write_some()
            self._guarded(self._tend)
        self._drain(time.monotonic() + DRAIN_S)

    def _drain(self, deadline: float) -> None:
        """Write the remaining entries until `deadline` (time.monotonic), and close the database.

        A write is retried only if the database is locked, because the lock may be released in time. Nobody frees a full
        disk or restores a file so quickly.
        """
        while self.queue.unmade_since() is not None:
            self.queue.make_next()
        self._log_lines()
        while self.queue.made:
            why = self._writer.write_some()
            late = time.monotonic() > deadline
            if late or (why and not isinstance(why, BusyError)):
                self._writer.give_up("the daemon had to stop" if late else str(why))
        if self._database:
            database = self._database
            self._guarded(lambda: database.end_service_run(self._service_run, self._clock()))
            self._guarded(database.close)

    def _log_lines(self) -> None:
        lines = self.queue.take_lines()
        if lines:
            log.info("\n".join(lines))

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except DatabaseError as error:
            self._throttle.warning(log, "database-failed", error=error)
        except Exception as error:  # a bug must not end the thread
            self._throttle.warning(log, "database-failed", trace=True, error=error)

    # --- periodic work

    def _tend(self) -> None:
        if not self._is_due("poll", POLL_S):
            return
        database = self._current()
        self._on_look(database)
        self._look_for_records(database)
        if self._is_due("touch", TOUCH_INTERVAL_S):
            database.touch_service_run(self._service_run, self._clock())
        if self._is_due("purge", PURGE_S):
            self._begin_purge()
        if self._forgetting is not None:
            self._purge_some(database, self._forgetting)

    def _begin_purge(self) -> None:
        """Begin to purge the rows that are older than the retention period.

        Ages are computed with the time of this purge or of the previous purge, whichever time is smaller. Thus no rows
        are lost if the clock is wrongly ahead for less than a day.
        """
        now = self._clock()
        self._forgetting, self._forgotten = min(now, self._known_time) - self._retention_s, 0
        self._known_time = now

    def _purge_some(self, database: DaemonDatabase, before: float) -> None:
        """Purge rows older than `before` until none are left, or until entries wait; the next poll then continues."""
        count = PURGE_ROWS
        while count >= PURGE_ROWS:
            count = database.purge(before, PURGE_ROWS)
            self._forgotten += count
            if self.queue.new.is_set() or self._stopping.is_set():
                break
        if count < PURGE_ROWS:
            log.info(line("purged", rows=self._forgotten))
            self._forgetting = None

    def _is_due(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + every_s
        return True

    def _look_for_records(self, database: DaemonDatabase) -> None:
        if self._reload.is_set():
            self._reload.clear()  # cleared first, so that a reload requested while records are read takes effect
            self._seen = None
        changes = database.record_changes(self._seen)
        if changes:
            self._on_records(changes.changed, changes.gone, all_of_them=changes.all_of_them)
            self._seen = changes.number

    def _open(self, seen: int | None = None) -> DaemonDatabase:
        identity = identity_of(self._path)
        database = DaemonDatabase.open(self._path, busy_timeout_s=BUSY_TIMEOUT_S)
        try:
            self._seen = seen
            self._look_for_records(database)
            now = self._clock()
            last, _ = database.service_runs_around(now)
            self._known_time = (last.stopped_at or last.seen_at) if last else now
            self._service_run = database.begin_service_run(self._version, now)
        except BaseException:
            database.close()
            raise
        self._database, self._identity = database, identity
        return database

    def _current(self) -> DaemonDatabase:
        """Return the open database; reopen it if its file was deleted or replaced. Raises a DatabaseError.

        If the database were not reopened, rows would be written to the old file and silently lost.
        """
        if self._database and self._identity == identity_of(self._path):
            return self._database
        if self._database:
            log.warning(line("database-replaced", path=self._path))
            database, self._database = self._database, None
            database.close()
        database = self._open()
        log.warning(line("database-reopened", path=self._path))
        return database
