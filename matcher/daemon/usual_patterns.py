# SPDX-License-Identifier: Apache-2.0
"""Usual access patterns of users' programs, in memory, for decisions about new jobs.

A decision never waits for them. A user's patterns are read from the database in a thread when the user first asks, when
a job of the user has ended, and once in a while. Until then, they are unknown.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable

from reprise.database.for_daemon import DaemonDatabase
from reprise.eventlog import Throttle
from reprise.matcher.daemon.decision_basis import Basis
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.decision.decide import Question, understood
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support.program_patterns import Kinds, kinds_of_programs, with_kinds

log = logging.getLogger(__name__)

FRESH_S = 600.0
"""Seconds after which a user's patterns are read again when the user next asks; old ones expire."""
AGAIN_S = 60.0
"""Minimum seconds between two times at which a user's patterns are read, since thousands of jobs may end at once."""
USERS = 4096
"""Maximum number of users whose patterns are in memory: some 10 kB for a user with MOST_PROGRAMS programs."""
THREADS = 1


class UsualPatterns:
    """Usual patterns of users' programs; only the thread of the event loop may use it.

    `slow` is a pool of threads for slow work. `stored` takes a uid and the time, and returns the user's patterns; by
    default, it reads the database.
    """

    def __init__(
        self,
        basis: Basis,
        slow: FairThreads,
        stored: Callable[[int, float], Kinds] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._basis = basis
        self._slow = slow
        self._stored = stored or self._read
        self._clock = clock
        self._known: dict[int, Kinds] = {}
        self._read_at: dict[int, float] = {}
        self._reading: dict[int, asyncio.Task[None]] = {}
        self._again: set[int] = set()
        self._threads = FairThreads(THREADS, 1, "patterns")
        self._throttle = Throttle()

    @property
    def are_compared(self) -> bool:
        """Whether decisions use patterns, which the model determines."""
        return self._basis.knowledge.engine.model.compares_io_patterns

    async def expected(self, question: Question, *, inline: bool) -> Question:
        """Return the question with the usual patterns of its job's program, if they are in memory."""
        uid = question.uid
        if not self.are_compared:
            return question
        if time.monotonic() - self._read_at.get(uid, -FRESH_S) >= FRESH_S:
            self.read(uid)
        kinds = self._known.get(uid)
        if not kinds:
            return question
        job: JobMetadata = understood(question) if inline else await self._slow.run(uid, understood, question)
        return dataclasses.replace(question, metadata=with_kinds(job, kinds))

    def read(self, uid: int) -> None:
        """Read the user's patterns in the background, but not before AGAIN_S have passed since the last time."""
        if not self.are_compared:
            return
        if uid in self._reading:
            self._again.add(uid)
            return
        wait_s = max(0.0, self._read_at.get(uid, -AGAIN_S) + AGAIN_S - time.monotonic())
        self._reading[uid] = asyncio.ensure_future(self._take(uid, wait_s))

    async def _take(self, uid: int, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        self._again.discard(uid)
        try:
            found = await self._threads.run(uid, self._stored, uid, self._clock())
        except Exception as error:  # decisions are made with what is known
            self._throttle.warning(log, "patterns-not-read", uid=uid, error=repr(error))
        else:
            self._known.pop(uid, None)
            if found:
                self._known[uid] = found
            if len(self._known) > USERS:
                del self._known[next(iter(self._known))]
        self._read_at[uid] = time.monotonic()
        del self._reading[uid]
        if uid in self._again:
            self.read(uid)

    def _read(self, uid: int, now: float) -> Kinds:
        with DaemonDatabase.open(self._basis.config.database.path, read_only=True) as database:
            return kinds_of_programs(database, uid, now)
