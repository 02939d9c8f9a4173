# SPDX-License-Identifier: Apache-2.0
"""Storage of jobs' access patterns, as I/O forwarders saw them.

Forwarders know a job by a number that its own processes give, so a user could have patterns counted for another user's
job. If munge confirmed the user to diod, patterns are stored only for a job of this user, and count as confirmed.
Others are stored for information only. Patterns are stored for jobs that run: those with a start and without an end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprise.database.entities import JobPattern
from reprise.database.row_codec import Table
from reprise.database.store import Store

JOB_PATTERN = Table("job_pattern", JobPattern)

MOST_PATTERNS = 64
"""Maximum number of patterns of a job; there are 43 known ones, so that a wrong writer cannot fill the database."""

LONGEST_S = 31 * 86_400.0
"""Seconds after which a start without an end is no longer taken for a running job, since its end may be lost."""

_ADD = """
INSERT INTO job_pattern (outcome_id, pattern, seconds, bytes, confirmed_bytes)
SELECT running.id, :pattern, :seconds, :bytes, :confirmed_bytes FROM (
  SELECT max(id) AS id FROM outcome
  WHERE cluster = :cluster AND job_id = :job AND ended_at IS NULL AND (:user IS NULL OR uid = :user)
    AND started_at <= :at AND started_at > :at - :longest
) AS running
WHERE running.id IS NOT NULL AND (
  EXISTS (SELECT 1 FROM job_pattern WHERE outcome_id = running.id AND pattern = :pattern)
  OR (SELECT count(*) FROM job_pattern WHERE outcome_id = running.id) < :most)
ON CONFLICT (outcome_id, pattern) DO UPDATE SET seconds = job_pattern.seconds + excluded.seconds,
  bytes = job_pattern.bytes + excluded.bytes,
  confirmed_bytes = job_pattern.confirmed_bytes + excluded.confirmed_bytes
"""

_OF_USER = """
SELECT decision.metadata, found.bytes_of FROM (
  SELECT newest.id, newest.at, outcome.id AS outcome_id, json_group_object(pattern, confirmed_bytes) AS bytes_of FROM (
    SELECT id, at, uid, cluster FROM decision WHERE uid = :uid AND at >= :since ORDER BY at DESC LIMIT :latest
  ) AS newest
  JOIN outcome ON outcome.decision_id = newest.id AND outcome.uid = newest.uid AND outcome.cluster = newest.cluster
  JOIN job_pattern ON job_pattern.outcome_id = outcome.id AND confirmed_bytes > 0
  GROUP BY newest.id, newest.at, outcome.id ORDER BY newest.at DESC, outcome.id DESC LIMIT :most
) AS found JOIN decision ON decision.id = found.id
ORDER BY found.at DESC, found.outcome_id DESC
"""

MOST_RUNS = 512
"""Maximum number of a user's runs that are read at a time, because the tasks of an array may be many more."""


@dataclass(frozen=True)
class Seen:
    """An access pattern of a running job: its text, its time in seconds, and the bytes that were moved.

    `user` is the user ID that munge confirmed, None if it confirmed none.
    """

    job: int
    pattern: str
    seconds: float
    bytes: int
    user: int | None = None


@dataclass(frozen=True)
class RunPatterns:
    """The bytes of each confirmed pattern of a run, and the metadata of the decision that the run had."""

    metadata: Mapping[str, Any]
    bytes_of: Mapping[str, int]


class JobPatterns(Store):
    """Access patterns of jobs."""

    def add_job_patterns(self, cluster: str, found: Iterable[Seen], at: float) -> None:
        """Add what forwarders saw of jobs until `at` (Unix seconds).

        Jobs that do not run, and those of another user than the confirmed one, are left out.
        """
        with self._write() as connection:
            for one in found:
                known = {"cluster": cluster, "at": at, "longest": LONGEST_S, "most": MOST_PATTERNS}
                confirmed = 0 if one.user is None else one.bytes
                row = JOB_PATTERN.encode(JobPattern(0, one.pattern, one.seconds, one.bytes, confirmed))
                connection.execute(_ADD, {**row, **known, "job": one.job, "user": one.user})

    def job_patterns(self, outcome_ids: Sequence[int]) -> Mapping[int, Sequence[JobPattern]]:
        """Return the patterns of starts of jobs, those with most bytes first; a start without any is left out."""
        found: dict[int, list[JobPattern]] = {}
        for outcome in dict.fromkeys(outcome_ids):
            rows = self._read("SELECT * FROM job_pattern WHERE outcome_id = ? ORDER BY bytes DESC, pattern", (outcome,))
            if rows:
                found[outcome] = [JOB_PATTERN.decode(row) for row in rows]
        return found

    def patterns_of_user(self, uid: int, since: float, latest: int) -> Sequence[RunPatterns]:
        """Return the confirmed patterns of a user's runs, newest decision first.

        Only runs of the user's `latest` most recent decisions since `since` (Unix seconds) are returned.
        """
        if not self._read("SELECT 1 FROM job_pattern LIMIT 1"):
            return []  # the site has no forwarders
        rows = self._read(_OF_USER, {"uid": uid, "since": since, "latest": latest, "most": MOST_RUNS})
        return [RunPatterns(json.loads(metadata), json.loads(bytes_of)) for metadata, bytes_of in rows]
