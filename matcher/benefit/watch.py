# SPDX-License-Identifier: Apache-2.0
"""Watches over records: takes what jobs report, block by block, and sets a record aside that is proved to do harm."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from database import Database
from database.errors import NotFoundError
from database.model import Compared, RecordStatus
from matcher.benefit import story
from matcher.benefit.evidence import Evidence
from matcher.eventlog import line

log = logging.getLogger(__name__)

EVENTS = 200
"""Ends of jobs that are looked at in one go; the others wait for the next."""


@dataclass
class _Watched:
    """`since`: what was decided before counts no more; `waiting`: blocks of which jobs still run."""

    since: float
    evidence: Evidence = field(default_factory=Evidence)
    taken: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)


class Watch:
    """`look` is for the thread that has the database; the others may be called by another one."""

    def __init__(
        self, open_blocks: Callable[[], Collection[str]], clock: Callable[[], float] = time.time, *, judges: bool = True
    ) -> None:
        """`open_blocks` tells the blocks that more jobs will be in. Who does not judge leaves records as they are."""
        self.quarantines = 0
        self._judges = judges
        self._open_blocks = open_blocks
        self._clock = clock
        self._ended: deque[str] = deque()
        self._asked: set[int] = set()
        self._watched: dict[int, _Watched] = {}

    def ended(self, decision_id: str) -> None:
        """A job with this decision has reported its end."""
        self._ended.append(decision_id)

    def in_doubt(self, record_id: int) -> bool:
        """Whether the record's next jobs are to be compared one with one: so until it has shown itself."""
        watched = self._watched.get(record_id)
        if watched is None:
            self._asked.add(record_id)  # of a daemon that has just started, which may know more soon
            return True
        return watched.evidence.in_doubt

    def look(self, database: Database) -> None:
        """Take what has ended since the last time. Raises a DatabaseError; nothing is lost then but time."""
        while self._asked:
            self._look_at(database, self._asked.pop(), None)
        for _ in range(min(len(self._ended), EVENTS)):
            place = database.place_of(self._ended.popleft())
            if place:
                self._look_at(database, *place)

    def _look_at(self, database: Database, record_id: int, block: str | None) -> None:
        """Take a block in which a job has ended, and what it has delayed; all there is of a record that is new here."""
        try:
            record = database.record(record_id)
        except NotFoundError:
            return
        watched, since = self._watched.get(record_id), story.since(record)
        if watched is None or watched.since != since:
            watched = self._watched[record_id] = _Watched(since)
            for runs in story.blocks(database.compared(record_id, since=since)):
                self._take(watched, runs)
        else:
            for one in {*watched.waiting, block} - {None}:
                self._take(watched, database.compared(record_id, block=one, since=since))
        if self._judges and watched.evidence.verdict and record.status is RecordStatus.ACTIVE:
            reason = story.told(watched.evidence.verdict, database.compared(record_id, since=since))
            database.set_record_status(record_id, RecordStatus.QUARANTINED, at=self._clock(), reason=reason)
            self.quarantines += 1
            log.warning(line("quarantined", record=record_id, why=reason))

    def _take(self, watched: _Watched, runs: Sequence[Compared]) -> None:
        if not runs or runs[0].block in watched.taken:
            return
        block = runs[0].block
        if block in self._open_blocks() or not story.has_ended(runs, self._clock()):
            watched.waiting.add(block)
            return
        watched.waiting.discard(block)
        watched.taken.add(block)
        story.add(watched.evidence, runs)
