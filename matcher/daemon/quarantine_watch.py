# SPDX-License-Identifier: Apache-2.0
"""Watches over records: takes what jobs report, block by block, and sets a record aside that is proved to do harm."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reprise.database.entities import Compared, RecordStatus
from reprise.database.errors import NotFoundError
from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import line
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.harm_test import Evidence

log = logging.getLogger(__name__)

EVENTS = 200
"""Ends of jobs that are looked at in one go; the others wait for the next."""
LATEST = 200
"""Jobs of a record that count after a restart: a thousand would take longer to look at than ten decisions."""
OVERDUE_S = 60.0
"""Between looks for blocks that are not waited for any more."""


@dataclass
class _Watched:
    """`since`: what was decided before counts no more; `waiting`: full blocks, and until when their jobs are waited for
    (Unix seconds); `jobs`: that were dealt a place; `first`: the block from which on they are looked at."""

    since: float
    evidence: Evidence = field(default_factory=Evidence)
    taken: set[str] = field(default_factory=set)
    waiting: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    first: str = ""


class Watch:
    """`look` is for the thread that has the database; the others may be called by another one."""

    def __init__(self, clock: Callable[[], float] = time.time, *, judges: bool = True) -> None:
        """Who does not judge leaves records as they are."""
        self.quarantines = 0
        self._judges = judges
        self._clock = clock
        self._ended: deque[str] = deque()
        self._asked: set[int] = set()
        self._watched: dict[int, _Watched] = {}
        self._overdue_at = 0.0

    def ended(self, decision_id: str) -> None:
        """A job with this decision has reported its end, or the decision has come after that."""
        self._ended.append(decision_id)

    def in_doubt(self, record_id: int) -> bool:
        """Whether the record's next job is to be compared one with one: so until it has shown itself."""
        watched = self._watched.get(record_id)
        if watched is None:
            self._asked.add(record_id)  # of a daemon that has just started, which may know more soon
            return True
        return watched.evidence.in_doubt(watched.jobs)

    def dealt(self, record_id: int) -> None:
        """A job of the record has a place in a block."""
        if watched := self._watched.get(record_id):
            watched.jobs += 1

    def look(self, database: DaemonDatabase) -> None:
        """Take what has ended since the last time. Raises a DatabaseError; nothing is lost then but time."""
        blocks: dict[int, set[str]] = {}
        while self._asked:
            blocks.setdefault(self._asked.pop(), set())
        for _ in range(min(len(self._ended), EVENTS)):
            if place := database.place_of(self._ended.popleft()):
                blocks.setdefault(place[0], set()).add(place[1])
        for record_id, block in self._overdue():
            blocks.setdefault(record_id, set()).add(block)
        for record_id, some in blocks.items():
            self._look_at(database, record_id, some)

    def _overdue(self) -> Iterable[tuple[int, str]]:
        """Blocks of which no job is waited for any more though nobody has reported."""
        now = self._clock()
        if not 0.0 <= self._overdue_at - now <= OVERDUE_S:  # it is due, or the clock was set back
            self._overdue_at = now + OVERDUE_S
            for record_id, watched in self._watched.items():
                yield from [(record_id, block) for block, until in watched.waiting.items() if until <= now]

    def _look_at(self, database: DaemonDatabase, record_id: int, blocks: Iterable[str]) -> None:
        """Take blocks of a record of which something is new; the latest there are of a record that is new here."""
        try:
            record = database.record(record_id)
        except NotFoundError:
            return
        watched, since = self._watched.get(record_id), record_benefit.since(record)
        if watched is None or watched.since != since:
            found = database.lately_compared(record_id, LATEST, since=since)
            watched = _Watched(since, Evidence(found.blocks_before), jobs=found.jobs)
            if found.blocks_before and found.latest:
                watched.first = found.latest[0].block
            for runs in record_benefit.blocks(found.latest):
                self._take(watched, runs)
            self._watched[record_id] = watched
        else:
            for block in blocks:
                if block >= watched.first:
                    self._take(watched, database.compared(record_id, block=block, since=since))
        if self._judges and watched.evidence.verdict and record.status is RecordStatus.ACTIVE:
            reason = record_benefit.told(watched.evidence.verdict, database.compared(record_id, since=since))
            database.set_record_status(record_id, RecordStatus.QUARANTINED, at=self._clock(), reason=reason)
            self.quarantines += 1
            log.warning(line("quarantined", record=record_id, why=reason))

    def _take(self, watched: _Watched, runs: Sequence[Compared]) -> None:
        if not runs or runs[0].block in watched.taken:
            return
        block, until = runs[0].block, record_benefit.waits_until(runs)
        if until > self._clock():
            if len(runs) >= runs[0].size:  # the others are looked at when their next job ends, or after a restart
                watched.waiting[block] = until
            return
        watched.waiting.pop(block, None)
        watched.taken.add(block)
        record_benefit.add(watched.evidence, runs)
