# SPDX-License-Identifier: Apache-2.0
"""Identification of jobs' programs by their files, with a limit on the time that a decision waits for a file system."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections import Counter

from reprise.eventlog import Throttle
from reprise.matcher.daemon.turns import FairThreads
from reprise.matcher.identity.identify import Identifier
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program_file import program_file

log = logging.getLogger(__name__)

WAIT_S = 0.02
"""Seconds that a decision waits for a program's file: a fifth of the plugin's usual deadline.

On a Debian host, 99 % of 1,281 executables were read within 14 ms.
"""
READ_S = 2.0
"""Seconds after which reading a file stops. A result that is too late for one decision is used for the next one."""
WARMING = "/bin/sh"
"""An executable of every host, which is read at the start: the first file that a process reads takes some 15 to 25 ms,
longer than a decision waits, and any further one about 1 ms.
"""
THREADS = 4
"""Number of threads that read files, at most one per uid; a file system that hangs blocks one thread per user."""


class ProgramFiles:
    """Identification of programs by their files; only the thread of the event loop may use it."""

    def __init__(self, identifier: Identifier | None = None, wait_s: float = WAIT_S) -> None:
        self._identifier = identifier or Identifier()
        Identifier().identify(WARMING, time.monotonic() + READ_S)
        self._wait_s = wait_s
        self._threads = FairThreads(THREADS, 1, "programs")
        self._throttle = Throttle()
        self._late: Counter[int] = Counter()

    async def identified(self, job: JobMetadata, uid: int) -> JobMetadata:
        """Return the job with its program's identity, or unchanged if the identity is not found in time.

        A thread is used only if the file must be read, because the kernel has not cached the file's path or the
        identifier has not cached the program's identity. While reading a file of the uid takes too long, no other file
        of this uid is read, and the uid's decisions do not wait.
        """
        path = program_file(job)
        if self._late[uid] or not path:
            return job
        known = self._identifier.known(path)
        if known is not None:
            return dataclasses.replace(job, **vars(known))
        deadline = time.monotonic() + READ_S
        reading = asyncio.ensure_future(self._threads.run(uid, self._identifier.identified, job, deadline))
        await asyncio.wait({reading}, timeout=self._wait_s)
        if reading.done():
            return self._result(reading, job)
        self._late[uid] += 1
        reading.add_done_callback(lambda done: self._come(uid, done, job))
        return job

    def is_late(self, uid: int) -> bool:
        """Return whether reading a file of the uid takes too long; then no other file of the uid should be read."""
        return self._late[uid] > 0

    def _come(self, uid: int, done: asyncio.Future[JobMetadata], job: JobMetadata) -> None:
        self._late[uid] -= 1
        if not self._late[uid]:
            del self._late[uid]
        if not done.cancelled():
            self._result(done, job)

    def _result(self, done: asyncio.Future[JobMetadata], job: JobMetadata) -> JobMetadata:
        """Return the result of reading a file, or the unchanged job if reading failed because of a bug."""
        error = done.exception()
        if error is None:
            return done.result()
        self._throttle.warning(log, "not-identified", error=repr(error))
        return job
