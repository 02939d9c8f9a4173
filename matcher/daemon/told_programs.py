# SPDX-License-Identifier: Apache-2.0
"""Program identities that starting jobs report, for programs whose files the daemon cannot read.

The daemon asks a job to identify the program at the path in its decision, and only the job's user may answer. Because
the answer is not verified, it is used only for later jobs of the same user with the same path.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reprise.eventlog import Throttle
from reprise.matcher.daemon.fair_store import FairStore
from reprise.matcher.daemon.program_files import WAIT_S
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import ProgramIdentity
from reprise.matcher.support.told_identities import OLDEST_S, Told

log = logging.getLogger(__name__)

FRESH_S = 600.0
"""Seconds after an answer during which no job is asked to identify the same program.

Without this time, each job of a campaign would read the program's file.
"""
UNANSWERED_S = 60.0
"""Seconds after a request during which no other job of the user is asked to identify the same program.

The job may be about to answer. If it does not answer, its program's file took too long to read, and reading the file
would also delay the next job.
"""
WANTED = 16_384
"""Maximum number of decisions whose jobs will be asked for an identity.

They take 5 MiB, or 12 MiB if all paths have PATH_BYTES.

Beyond this limit, the uid with the most entries loses its oldest one. KNOWN and ASKED limit their entries by the same
rule.
"""
KNOWN = 16_384
"""Maximum number of answers in memory; they take 10 MiB, or 18 MiB if all paths have PATH_BYTES."""
ASKED = 4_096
"""Maximum number of requests whose times are kept; they take 1 MiB, or 3 MiB if all paths have PATH_BYTES."""
PATH_BYTES = 512
"""Maximum length in bytes of the path of a program that a job is asked to identify.

The limit is needed because paths are kept in memory and users choose them. Hardly any path is longer.
"""
THREADS = 2
"""Number of threads that load users' earlier answers from the database, once per user."""


@dataclass
class _Wanted:
    path: str
    is_asked: bool = False


class ToldPrograms:
    """Pending requests for program identities, and the answers; only the thread of the event loop may use it.

    `stored` takes a uid and a time, and returns the user's answers that are valid at that time, oldest first. It is
    called in a thread, once per user.
    """

    def __init__(
        self,
        stored: Callable[[int, float], Iterable[Told]],
        clock: Callable[[], float] = time.time,
        wait_s: float = WAIT_S,
    ) -> None:
        self._stored = stored
        self._clock = clock
        self._wait_s = wait_s
        self._wanted: FairStore[_Wanted] = FairStore(WANTED)
        self._asked: FairStore[float] = FairStore(ASKED)
        self._known: FairStore[Told] = FairStore(KNOWN)
        self._loading: dict[int, asyncio.Future[None]] = {}
        self._threads = FairThreads(THREADS, 1, "told")
        self._throttle = Throttle()

    async def identified(self, job: JobMetadata, uid: int) -> JobMetadata:
        """Return the job with the identity that was last reported for its program, or unchanged if there is none."""
        path = program_file(job)
        if not path:
            return job
        if uid not in self._loading:
            self._loading[uid] = asyncio.ensure_future(self._load(uid))
        if not self._loading[uid].done():
            await asyncio.wait({self._loading[uid]}, timeout=self._wait_s)
        told = self._known.get(uid, path)
        if told is None or told.at < self._clock() - OLDEST_S:
            return job
        return dataclasses.replace(job, **vars(told.identity))

    def want(self, decision: str, uid: int, path: str) -> None:
        """Have this decision's job identify the program at `path` when it starts, unless a recent answer exists."""
        if not self._is_fresh(uid, path) and len(path.encode(errors="replace")) <= PATH_BYTES:
            self._wanted.put(uid, decision, _Wanted(path))

    def path_to_ask(self, decision: str | None, uid: int) -> str | None:
        """Return the path of the program that this decision's job is to identify; None if it need not identify any.

        A decision's path is returned only once, so that only the first task of an array is asked. At most one of the
        user's jobs that run the same program is asked every UNANSWERED_S seconds.
        """
        wanted = self._wanted.get(uid, decision or "")
        if wanted is None or wanted.is_asked or self._is_fresh(uid, wanted.path):
            return None
        asked_at = self._asked.get(uid, wanted.path)
        if asked_at is not None and asked_at >= self._clock() - UNANSWERED_S:
            return None
        wanted.is_asked = True
        self._asked.put(uid, wanted.path, self._clock())
        return wanted.path

    def answered(self, decision: str, uid: int) -> str | None:
        """Remove and return the path of the program that this user's job was asked to identify; None if not asked."""
        wanted = self._wanted.get(uid, decision)
        if wanted is None or not wanted.is_asked:
            return None
        self._wanted.pop(uid, decision)
        return wanted.path

    def _is_fresh(self, uid: int, path: str) -> bool:
        told = self._known.get(uid, path)
        return told is not None and told.at >= self._clock() - FRESH_S

    def remember(self, uid: int, path: str, identity: ProgramIdentity) -> Told:
        """Store an answer in memory, and return it."""
        told = Told(path, identity, self._clock())
        self._known.put(uid, path, told)
        return told

    async def _load(self, uid: int) -> None:
        try:
            found = await self._threads.run(uid, self._stored, uid, self._clock())
        except Exception as error:  # without the user's earlier answers, decisions can still be made
            self._throttle.warning(log, "told-not-loaded", uid=uid, error=repr(error))
            return
        for told in found:
            known = self._known.get(uid, told.path)
            if known is None or known.at < told.at:
                self._known.put(uid, told.path, told)
