# SPDX-License-Identifier: Apache-2.0
"""Seconds and bytes of jobs' access patterns, added up until they are stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from reprise.database.job_patterns import Seen
from reprise.matcher.council.access_pattern import UNKNOWN, Pattern
from reprise.matcher.detection.job_name import job_number

MOST_JOBS = 10_000
"""Maximum number of jobs between two times of storing; further ones are left out. A cluster has fewer at a time, but
names of jobs are claims, and must not fill the memory. A job counts once for each user who gave its name."""


class SeenPatterns:
    """Seconds and bytes of each pattern of each job and user."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int | None], dict[str, list[float]]] = {}

    def see(self, job: str, pattern: Pattern | None, seconds: float, size: int, user: int | None = None) -> None:
        """Add a forwarder's second of a job: the pattern, the second's length, and the bytes that were moved.

        `user` is the user ID that munge confirmed, if any. A job whose name is no number is left out.
        """
        number = job_number(job)
        if number is None or ((number, user) not in self._seen and len(self._seen) >= MOST_JOBS):
            return
        key = (number, user)
        total = self._seen.setdefault(key, defaultdict(lambda: [0.0, 0.0]))[str(pattern or UNKNOWN)]
        total[0] += seconds
        total[1] += size

    def taken(self) -> Sequence[Seen]:
        """Return what was added since the last call, as `add_job_patterns` takes it."""
        found, self._seen = self._seen, {}
        return [
            Seen(job, pattern, seconds, int(size), user)
            for (job, user), of_job in found.items()
            for pattern, (seconds, size) in of_job.items()
        ]
