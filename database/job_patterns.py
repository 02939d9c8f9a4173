# SPDX-License-Identifier: Apache-2.0
"""Storage of jobs' access patterns, as I/O forwarders saw them.

Forwarders know a job by a number that its own processes give, so any user can have patterns counted for another user's
job. They are stored for information only, and only for jobs that run: those with a start and without an end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reprise.database.entities import JobPattern
from reprise.database.row_codec import Table
from reprise.database.store import Store

JOB_PATTERN = Table("job_pattern", JobPattern)

MOST_PATTERNS = 64
"""Maximum number of patterns of a job; there are 43 known ones, so that a wrong writer cannot fill the database."""

LONGEST_S = 31 * 86_400.0
"""Seconds after which a start without an end is no longer taken for a running job, since its end may be lost."""

_ADD = """
INSERT INTO job_pattern (outcome_id, pattern, seconds, bytes)
SELECT running.id, :pattern, :seconds, :bytes FROM (
  SELECT max(id) AS id FROM outcome
  WHERE cluster = :cluster AND job_id = :job AND ended_at IS NULL
    AND started_at <= :at AND started_at > :at - :longest
) AS running
WHERE running.id IS NOT NULL AND (
  EXISTS (SELECT 1 FROM job_pattern WHERE outcome_id = running.id AND pattern = :pattern)
  OR (SELECT count(*) FROM job_pattern WHERE outcome_id = running.id) < :most)
ON CONFLICT DO UPDATE SET seconds = seconds + excluded.seconds, bytes = bytes + excluded.bytes
"""


class JobPatterns(Store):
    """Access patterns of jobs."""

    def add_job_patterns(self, cluster: str, found: Mapping[int, Sequence[JobPattern]], at: float) -> None:
        """Add what forwarders saw of jobs until `at` (Unix seconds), by job id; `outcome_id` is ignored.

        Jobs that do not run are left out.
        """
        with self._write() as connection:
            for job, patterns in found.items():
                of_job = {"cluster": cluster, "job": job, "at": at, "longest": LONGEST_S, "most": MOST_PATTERNS}
                for one in patterns:
                    connection.execute(_ADD, {**JOB_PATTERN.encode(one), **of_job})

    def job_patterns(self, outcome_ids: Sequence[int]) -> Mapping[int, Sequence[JobPattern]]:
        """Return the patterns of starts of jobs, those with most bytes first; a start without any is left out."""
        found: dict[int, list[JobPattern]] = {}
        for outcome in dict.fromkeys(outcome_ids):
            rows = self._read("SELECT * FROM job_pattern WHERE outcome_id = ? ORDER BY bytes DESC, pattern", (outcome,))
            if rows:
                found[outcome] = [JOB_PATTERN.decode(row) for row in rows]
        return found
