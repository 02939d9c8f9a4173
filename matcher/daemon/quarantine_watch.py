# SPDX-License-Identifier: Apache-2.0
"""Watch that compares the run times of ended jobs, block by block, and quarantines harmful records.

A record is quarantined for the user whose jobs show that it is harmful, or for all users if the jobs of several users
show enough evidence.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reprise.database.comparisons import Place
from reprise.database.entities import Compared, Record, RecordStatus, UserQuarantine
from reprise.database.errors import NotFoundError
from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import line
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.harm_test import Evidence
from reprise.matcher.benefit.shared_evidence import MEASURED_BLOCKS, POOLED_BLOCKS, decides_for_all

log = logging.getLogger(__name__)

EVENTS = 200
"""Maximum number of ended jobs that one call of `look` handles; further jobs wait for the next call."""
LATEST = 200
"""Maximum number of latest jobs of a record, or of one of its users, that are read after a restart.

Earlier jobs do not count. Reading a thousand jobs would take longer than making ten decisions.
"""
OVERDUE_S = 60.0
"""Seconds between searches for blocks that have waited long enough for their jobs to end."""
WATCHED = 10_000
"""Maximum number of pairs of a record and a user that are watched, at some 2 kB each.

Beyond this number, the oldest record's jobs are removed from memory, and read again when they are next needed.
"""


@dataclass
class _User:
    """State of the watch over one user's jobs in the blocks of one record.

    `taken` are the blocks in the evidence. `waiting` maps each full block whose jobs have not all ended to the time
    until which the block waits for its jobs (Unix seconds). `jobs` is the number of jobs that were assigned a place in
    a block. `first` is the earliest block that is read.
    """

    evidence: Evidence = field(default_factory=Evidence)
    taken: set[str] = field(default_factory=set)
    waiting: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    first: str = ""


@dataclass
class _Watched:
    """State of the watch over a record.

    `since` is the time before which decisions do not count. `pool` is the evidence from a few blocks of each user,
    `pooled` the number of these blocks by user, and `in_pool` the blocks themselves.
    """

    since: float
    users: dict[int, _User] = field(default_factory=dict)
    pool: Evidence = field(default_factory=Evidence)
    pooled: Counter[int] = field(default_factory=Counter)
    in_pool: set[str] = field(default_factory=set)

    def add_to_pool(self, runs: Sequence[Compared]) -> None:
        """Add a block's jobs to the pool, unless the pool has the block or enough blocks of its user."""
        uid, block = runs[0].uid, runs[0].block
        if self.pooled[uid] < POOLED_BLOCKS and block not in self.in_pool:
            self.pooled[uid] += 1
            self.in_pool.add(block)
            record_benefit.add(self.pool, runs)


class Watch:
    """Watch over all records. `look` runs only in the journal's thread, other methods also in the event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        *,
        judges: bool = True,
        on_quarantine: Callable[[Record, str | None, str], object] | None = None,
    ) -> None:
        """Start without evidence; if `judges` is False, records are never quarantined.

        `on_quarantine` is called with the record, the user (None: all users) and the reason.
        """
        self._on_quarantine = on_quarantine or (lambda *_: None)
        self.quarantines = 0
        self._judges = judges
        self._clock = clock
        self._ended: deque[str] = deque()
        self._asked: set[tuple[int, int]] = set()
        self._watched: dict[int, _Watched] = {}
        self._overdue_at = 0.0

    def ended(self, decision_id: str) -> None:
        """Queue a decision for `look`, because its job has ended, or may have ended before the decision arrived."""
        self._ended.append(decision_id)

    def in_doubt(self, record_id: int, uid: int, *, often_wrong: bool = False) -> bool:
        """Return whether this user's next jobs are compared in pairs, because the record is new or suspect.

        `often_wrong` is True if the match of job and record is of a kind that is often wrong. The result is True until
        `look` has read the user's jobs.
        """
        user = self._user(record_id, uid)
        if user is None:
            if len(self._asked) < WATCHED:
                self._asked.add((record_id, uid))  # after a restart, the next call of `look` may find jobs of this user
            return True
        return user.evidence.in_doubt(user.jobs, often_wrong=often_wrong)

    def dealt(self, record_id: int, uid: int) -> None:
        """Count a job of this user that has been assigned a place in a block of the record."""
        if user := self._user(record_id, uid):
            user.jobs += 1

    def look(self, database: DaemonDatabase) -> None:
        """Evaluate the jobs that have ended since the last call. Raises a DatabaseError."""
        found: dict[tuple[int, int], set[str]] = {}
        while self._asked:
            found.setdefault(self._asked.pop(), set())
        names: dict[tuple[int, int], str] = {}
        for _ in range(min(len(self._ended), EVENTS)):
            if place := database.place_of(self._ended.popleft()):
                found.setdefault((place.record_id, place.uid), set()).add(place.block)
                names[place.record_id, place.uid] = place.user
        for record_id, uid, block in self._overdue():
            found.setdefault((record_id, uid), set()).add(block)
        for (record_id, uid), blocks in found.items():
            self._look_at(database, record_id, uid, names.get((record_id, uid), ""), blocks)

    def _user(self, record_id: int, uid: int) -> _User | None:
        watched = self._watched.get(record_id)
        return watched.users.get(uid) if watched else None

    def _overdue(self) -> Iterable[tuple[int, int, str]]:
        """Yield the blocks that have waited long enough, although some of their jobs have not reported an end."""
        now = self._clock()
        if not 0.0 <= self._overdue_at - now <= OVERDUE_S:  # a search is due, or the clock was set back
            self._overdue_at = now + OVERDUE_S
            for record_id, watched in self._watched.items():
                for uid, user in watched.users.items():
                    yield from [(record_id, uid, block) for block, until in user.waiting.items() if until <= now]

    def _look_at(self, database: DaemonDatabase, record_id: int, uid: int, name: str, blocks: Iterable[str]) -> None:
        """Evaluate a user's blocks in which jobs have ended, or the latest blocks if the user is not watched yet."""
        try:
            record = database.record(record_id)
        except NotFoundError:
            return
        watched = self._of_record(database, record)
        if uid in watched.users:
            user = watched.users[uid]
            for block in blocks:
                if block >= user.first:
                    runs = database.compared(record_id, block=block, since=watched.since)
                    self._take(watched, user, [one for one in runs if one.uid == uid])
        else:
            user = self._new_user(database, record_id, uid, watched)
        if self._judges and record.status is RecordStatus.ACTIVE:
            self._judge(database, record, watched, user, Place(record_id, uid, name or str(uid), ""))

    def _of_record(self, database: DaemonDatabase, record: Record) -> _Watched:
        watched, since = self._watched.get(record.id), record_benefit.since(record)
        if watched is None or watched.since != since:
            watched = _Watched(since)
            for runs in record_benefit.blocks(database.lately_compared(record.id, LATEST, since=since)):
                if record_benefit.waits_until(runs) <= self._clock():
                    watched.add_to_pool(runs)
            self._watched[record.id] = watched
        return watched

    def _new_user(self, database: DaemonDatabase, record_id: int, uid: int, watched: _Watched) -> _User:
        found = database.lately_compared_of(record_id, uid, LATEST, since=watched.since)
        user = _User(Evidence(found.blocks_before), jobs=found.jobs)
        if found.blocks_before and found.latest:
            user.first = found.latest[0].block
        for runs in record_benefit.blocks(found.latest):
            self._take(watched, user, runs)
        while self._watched and sum(len(one.users) for one in self._watched.values()) >= WATCHED:
            del self._watched[next(iter(self._watched))]
        self._watched[record_id] = watched
        watched.users[uid] = user
        return user

    def _take(self, watched: _Watched, user: _User, runs: Sequence[Compared]) -> None:
        if not runs or runs[0].block in user.taken:
            return
        block, until = runs[0].block, record_benefit.waits_until(runs)
        if until > self._clock():
            if len(runs) >= runs[0].size:  # else the block is read again when its next job ends, or after a restart
                user.waiting[block] = until
            return
        user.waiting.pop(block, None)
        user.taken.add(block)
        record_benefit.add(user.evidence, runs)
        watched.add_to_pool(runs)

    def _judge(self, database: DaemonDatabase, record: Record, watched: _Watched, user: _User, whose: Place) -> None:
        since, at = watched.since, self._clock()
        if user.evidence.verdict:
            quarantined = {one.uid for one in database.user_quarantines(record.id)}
            if whose.uid not in quarantined:
                why = record_benefit.told(
                    user.evidence.verdict, database.compared(record.id, uid=whose.uid, since=since)
                )
                database.quarantine_for(UserQuarantine(record.id, whose.uid, whose.user, at, why))
                self.quarantines += 1
                log.warning(line("quarantined", record=record.id, user=whose.user, why=why))
                self._on_quarantine(record, whose.user, why)
                quarantined.add(whose.uid)
                measured = database.users_measured(record.id, MEASURED_BLOCKS, since=since)
                if decides_for_all(len(quarantined), measured):
                    self._quarantine(
                        database, record, f"it is quarantined for {len(quarantined)} users: for the last, {why}"
                    )
                    return
        if watched.pool.verdict:
            self._quarantine(
                database, record, record_benefit.told(watched.pool.verdict, database.compared(record.id, since=since))
            )

    def _quarantine(self, database: DaemonDatabase, record: Record, why: str) -> None:
        database.set_record_status(record.id, RecordStatus.QUARANTINED, at=self._clock(), reason=why)
        self.quarantines += 1
        log.warning(line("quarantined", record=record.id, user="all", why=why))
        self._on_quarantine(record, None, why)
