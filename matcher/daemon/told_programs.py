# SPDX-License-Identifier: Apache-2.0
"""What jobs tell, as they start, about programs whose files the daemon cannot read.

The daemon asks a job about the one path that its decision was about, and only the job's own user may answer. An answer
is that user's word: it counts for later jobs of the same user with the same path, and for nobody else's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reprise.eventlog import Throttle
from reprise.matcher.daemon.program_files import WAIT_S
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file
from reprise.matcher.submission.program_identity import ProgramIdentity
from reprise.matcher.support.told_identities import OLDEST_S, Told
from reprise.matcher.wire import protocol

log = logging.getLogger(__name__)

FRESH_S = 600.0
"""Seconds after an answer in which its program is not asked about again, so that the jobs of a campaign do not each
read the file."""
WANTED = 16_384
"""Decisions whose jobs may still be asked, the newest: 5 MiB. A job that waits longer than so many others is not."""
KNOWN = 16_384
"""Answers that are kept in memory, the newest: 10 MiB."""
THREADS = 2
"""That load a user's earlier answers from the database, once for each user."""


@dataclass
class _Wanted:
    uid: int
    path: str
    is_asked: bool = False


class ToldPrograms:
    """Remembers what to ask, and what was answered. For the loop's thread.

    `stored` returns a user's answers that count at a time, oldest first; it is called in a thread, once for each user.
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
        self._wanted: OrderedDict[str, _Wanted] = OrderedDict()
        self._known: OrderedDict[tuple[int, str], Told] = OrderedDict()
        self._loading: dict[int, asyncio.Future[None]] = {}
        self._threads = FairThreads(THREADS, 1, "told")
        self._throttle = Throttle()

    async def identified(self, job: JobMetadata, uid: int) -> JobMetadata:
        """Return the job with what was last told about its program, or as it is where nothing was."""
        path = program_file(job)
        if not path:
            return job
        if uid not in self._loading:
            self._loading[uid] = asyncio.ensure_future(self._load(uid))
        if not self._loading[uid].done():
            await asyncio.wait({self._loading[uid]}, timeout=self._wait_s)
        told = self._known.get((uid, path))
        if told is None or told.at < self._clock() - OLDEST_S:
            return job
        return dataclasses.replace(job, **vars(told.identity))

    def want(self, decision: str, uid: int, path: str) -> None:
        """Have the job of this decision asked about the program at `path`, unless that was told just now."""
        told = self._known.get((uid, path))
        is_fresh = told is not None and told.at >= self._clock() - FRESH_S
        if not is_fresh and len(path.encode(errors="replace")) <= protocol.PATH_LIMIT:
            self._wanted[decision] = _Wanted(uid, path)
            _keep_newest(self._wanted, WANTED)

    def path_to_ask(self, decision: str | None, uid: int) -> str | None:
        """Return what to ask the job of this decision about, once: of an array, the task that starts first."""
        wanted = self._wanted.get(decision or "")
        if wanted is None or wanted.uid != uid or wanted.is_asked:
            return None
        wanted.is_asked = True
        return wanted.path

    def answered(self, decision: str, uid: int) -> str | None:
        """Return the path that this user's job was asked about, once; None where it was not."""
        wanted = self._wanted.get(decision)
        if wanted is None or wanted.uid != uid or not wanted.is_asked:
            return None
        del self._wanted[decision]
        return wanted.path

    def remember(self, uid: int, path: str, identity: ProgramIdentity) -> Told:
        """Take an answer."""
        told = Told(path, identity, self._clock())
        self._remember(uid, told)
        return told

    def _remember(self, uid: int, told: Told) -> None:
        self._known[uid, told.path] = told
        self._known.move_to_end((uid, told.path))
        _keep_newest(self._known, KNOWN)

    async def _load(self, uid: int) -> None:
        try:
            found = await self._threads.run(uid, self._stored, uid, self._clock())
        except Exception as error:  # costs the user's earlier answers, and no decision
            self._throttle.warning(log, "told-not-loaded", uid=uid, error=repr(error))
            return
        for told in found:
            if (uid, told.path) not in self._known or self._known[uid, told.path].at < told.at:
                self._remember(uid, told)


def _keep_newest(entries: OrderedDict[str, _Wanted] | OrderedDict[tuple[int, str], Told], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
