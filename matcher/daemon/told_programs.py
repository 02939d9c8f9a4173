# SPDX-License-Identifier: Apache-2.0
"""Identities of programs that the daemon cannot read, as reported by jobs when they start.

The daemon asks a job about the path in its decision, and only the job's user may answer. The answer is not verified: it
counts only for later jobs of the same user with the same path.
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
"""Seconds after an answer during which jobs are not asked about the program again, so that the jobs of a campaign do
not each read the file."""
UNANSWERED_S = 60.0
"""Seconds after a question during which none of the user's other jobs is asked about the program. The job may be about
to answer; if it is not, it waited too long for the file, and so would the next job."""
WANTED = 16_384
"""Decisions whose jobs may still be asked: 5 MiB, or 12 if all paths have PATH_BYTES. Beyond, the uid with the most
loses its oldest; so do KNOWN and ASKED."""
KNOWN = 16_384
"""Answers that are kept in memory: 10 MiB, or 18."""
ASKED = 4_096
"""Questions whose time is remembered: 1 MiB, or 3."""
PATH_BYTES = 512
"""Longest path of a program that jobs are asked about. Hardly any is longer, and users choose the paths that are
kept."""
THREADS = 2
"""Threads that load users' earlier answers from the database, once for each user."""


@dataclass
class _Wanted:
    path: str
    is_asked: bool = False


class ToldPrograms:
    """Remembers the questions to ask and the answers. For the loop's thread.

    `stored` takes a uid and a time, and returns the user's answers that are valid then, oldest first. It is called in a
    thread, once for each user.
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
        """Return the job with the identity last reported for its program, or unchanged if there is none."""
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
        """Note to ask the job of this decision about the program at `path`, unless a fresh answer is known."""
        if not self._is_fresh(uid, path) and len(path.encode(errors="replace")) <= PATH_BYTES:
            self._wanted.put(uid, decision, _Wanted(path))

    def path_to_ask(self, decision: str | None, uid: int) -> str | None:
        """Return the path to ask the job of this decision about; None if there is nothing to ask.

        A decision's path is returned once, so an array is asked through the task that starts first. Each program is
        asked about at intervals only, however many jobs were submitted with it.
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
        """Return the path that this user's job was asked about, and forget it; None if the job was not asked."""
        wanted = self._wanted.get(uid, decision)
        if wanted is None or not wanted.is_asked:
            return None
        self._wanted.pop(uid, decision)
        return wanted.path

    def _is_fresh(self, uid: int, path: str) -> bool:
        told = self._known.get(uid, path)
        return told is not None and told.at >= self._clock() - FRESH_S

    def remember(self, uid: int, path: str, identity: ProgramIdentity) -> Told:
        """Remember an answer, and return it."""
        told = Told(path, identity, self._clock())
        self._known.put(uid, path, told)
        return told

    async def _load(self, uid: int) -> None:
        try:
            found = await self._threads.run(uid, self._stored, uid, self._clock())
        except Exception as error:  # loses the user's earlier answers, but no decision
            self._throttle.warning(log, "told-not-loaded", uid=uid, error=repr(error))
            return
        for told in found:
            known = self._known.get(uid, told.path)
            if known is None or known.at < told.at:
                self._known.put(uid, told.path, told)
