# SPDX-License-Identifier: Apache-2.0
"""Seconds and bytes of jobs' access patterns, added up until they are stored."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from reprise.database.entities import JobPattern
from reprise.matcher.council.access_pattern import UNKNOWN, Pattern

MOST_JOBS = 10_000
"""Maximum number of jobs between two times of storing; further ones are left out. A cluster has fewer at a time, but
names of jobs are claims, and must not fill the memory."""

_JOB = re.compile(r"([1-9][0-9]{0,9})(?:-[a-z]+)?")
"""Name that the forwarding library gives a job: its number, and a word if the job forbids something."""


class SeenPatterns:
    """Seconds and bytes of each pattern of each job."""

    def __init__(self) -> None:
        self._seen: dict[int, dict[str, list[float]]] = {}

    def see(self, job: str, pattern: Pattern | None, seconds: float, size: int) -> None:
        """Add a forwarder's second of a job: the pattern, the second's length, and the bytes that were moved.

        A job whose name is no number is left out.
        """
        found = _JOB.fullmatch(job)
        number = int(found[1]) if found else 0
        if not number or (number not in self._seen and len(self._seen) >= MOST_JOBS):
            return
        total = self._seen.setdefault(number, defaultdict(lambda: [0.0, 0.0]))[str(pattern or UNKNOWN)]
        total[0] += seconds
        total[1] += size

    def taken(self) -> Mapping[int, Sequence[JobPattern]]:
        """Return what was added since the last call, by number of the job, as `add_job_patterns` takes it."""
        found, self._seen = self._seen, {}
        return {
            job: [JobPattern(0, pattern, seconds, int(size)) for pattern, (seconds, size) in of_job.items()]
            for job, of_job in found.items()
        }
