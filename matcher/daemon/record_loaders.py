# SPDX-License-Identifier: Apache-2.0
"""Loading of all records when the daemon starts, by several processes that each read, check and prepare some records.

The daemon's own process then adds each prepared record, in a seventh of the time that a loading process needs for a
record.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.database import DatabaseError
from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import line
from reprise.matcher.decision.known_records import readable
from reprise.matcher.decision.record_batch import Batch, batch
from reprise.matcher.linkage.prepared_record import Preparation

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger(__name__)

MINIMUM = 20_000  # minimum number of records; with fewer, starting the processes takes as much time as they save
PIECE = 2048  # records that a process reads at once, and sends in a message of some 1.5 MiB
WORKERS = 4  # maximum number of processes; the parent, which receives the results, could not keep up with many more
AHEAD = 2  # pieces in progress in addition to one per worker, so that no worker idles and memory is bounded
PR_SET_PDEATHSIG = 1  # of prctl(2)


@dataclass(frozen=True)
class Plan:
    """Plan that divides the records of the database at `path` into pieces, given by their first and last ids.

    `number` is the sequence number of the last record change when the plan was made. Later changes may or may not be
    included in the records that are read. `forwarding` is passed to `readable`.
    """

    path: Path
    number: int
    pieces: Sequence[tuple[int, int]]
    workers: int
    forwarding: Mapping[str, Mapping[str, str]]

    def batches(self, prepare: Preparation) -> Iterator[Batch]:
        """Yield all records, in order; if the workers fail, this process logs the failure and reads the rest itself."""
        done = 0
        try:
            for some in self._by_workers(prepare):
                done += 1
                yield some
            return
        except Exception as error:  # a failure of the workers must not prevent the daemon from starting
            log.warning(line("workers-failed", left=len(self.pieces) - done, error=error or type(error).__name__))
        with DaemonDatabase.open(self.path, read_only=True) as database:
            for first, last in self.pieces[done:]:
                yield batch(readable(database.record_texts(first, last), self.forwarding), prepare)

    def _by_workers(self, prepare: Preparation) -> Iterator[Batch]:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        given = (os.getpid(), self.path, self.forwarding, prepare)
        pool = ProcessPoolExecutor(self.workers, get_context("fork"), _begin, given)
        waiting: deque[Future[Batch]] = deque()
        try:
            for piece in self.pieces:
                waiting.append(pool.submit(_batch, *piece))
                if len(waiting) >= self.workers + AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def plan(path: Path, forwarding: Mapping[str, Mapping[str, str]]) -> Plan | None:
    """Return a plan; None if workers would not be faster, or if this process has threads and so must not fork.

    Workers that are forked from a process with threads may hang. The caller must not have a database open, because
    workers must not inherit the connection.
    """
    processors = len(os.sched_getaffinity(0))
    if processors < 2 or threading.active_count() > 1:
        return None
    try:
        with DaemonDatabase.open(path, read_only=True) as database:
            number, ids = database.last_record_change(), database.record_ids()
    except DatabaseError:
        return None  # opening the database for writing will report the error
    if len(ids) < MINIMUM:
        return None
    pieces = [(ids[first], ids[min(first + PIECE, len(ids)) - 1]) for first in range(0, len(ids), PIECE)]
    return Plan(path, number, pieces, min(processors, WORKERS), forwarding)


# --- in the workers

_path: Path
_forwarding: Mapping[str, Mapping[str, str]]
_prepare: Preparation


def _begin(parent: int, path: Path, forwarding: Mapping[str, Mapping[str, str]], prepare: Preparation) -> None:
    global _path, _forwarding, _prepare
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # otherwise, an idle worker would outlive its parent
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C also reaches the parent, which ends its workers
    gc.disable()
    _path, _forwarding, _prepare = path, forwarding, prepare


@cache
def _database() -> DaemonDatabase:
    return DaemonDatabase.open(_path, read_only=True)


def _batch(first: int, last: int) -> Batch:
    return batch(readable(_database().record_texts(first, last), _forwarding), _prepare)
