# SPDX-License-Identifier: Apache-2.0
"""The running jobs that use forwarders: those that reported their start and that run according to Slurm.

A user's process can report any start, so a start counts only if Slurm runs a job with this number for this user. Slurm
decides when a job is over, too, unless the job's end was reported before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from reprise.database.entities import ForwardedJob
from reprise.eventlog import line
from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve
from reprise.matcher.arbiter.forwarding_job import Job
from reprise.matcher.arbiter.record_curve import curve_in
from reprise.matcher.errors import ArbiterError
from reprise.matcher.forwarding.slurm_queue import Listing, QueuedJob

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Start:
    """A reported start, when it was first read (time.monotonic), and the curve of its record."""

    reported: ForwardedJob
    read_at: float
    curve: BandwidthCurve | None


class RunningJobs:
    """The running jobs, from reported starts and ends, and from Slurm's list."""

    def __init__(self) -> None:
        self._starts: dict[int, _Start] = {}  # by the id of the outcome
        self._listed: Mapping[int, QueuedJob] = {}

    @property
    def outcomes(self) -> Sequence[int]:
        """Ids of the outcomes whose ends are awaited."""
        return list(self._starts)

    def started(self, reported: Iterable[ForwardedJob], now: float) -> None:
        """Add reported starts; `now` is time.monotonic."""
        for one in reported:
            if one.outcome_id not in self._starts:
                self._starts[one.outcome_id] = _Start(one, now, _curve(one))

    def ended(self, outcomes: Iterable[int]) -> None:
        """Remove starts whose end was reported, and their jobs from Slurm's list, which may be older than the end."""
        for outcome in outcomes:
            start = self._starts.pop(outcome, None)
            if start and self._is_confirmed(start):
                job = start.reported.job_id
                self._listed = {number: one for number, one in self._listed.items() if number != job}

    def forget(self) -> None:
        """Forget all starts, but not Slurm's list."""
        self._starts.clear()

    def listed(self, listing: Listing) -> Sequence[ForwardedJob]:
        """Take Slurm's list; remove starts that Slurm must know, and does not.

        Return those of them that Slurm never listed.
        """
        confirmed = {outcome for outcome, start in self._starts.items() if self._is_confirmed(start)}
        self._listed = listing.jobs
        gone = {
            outcome: start.reported
            for outcome, start in self._starts.items()
            if start.read_at < listing.asked_at and not self._is_confirmed(start)
        }
        for outcome in gone:
            del self._starts[outcome]
        return [reported for outcome, reported in gone.items() if outcome not in confirmed]

    def unread(self, listing: Listing) -> AbstractSet[int]:
        """Return the jobs in Slurm's list for which no start of their user was read."""
        read = {(start.reported.job_id, start.reported.uid) for start in self._starts.values()}
        return {job for job, one in listing.jobs.items() if (job, one.uid) not in read}

    def runs(self, job: int) -> bool:
        """Return whether Slurm lists the job."""
        return job in self._listed

    def user(self, job: int) -> int:
        """Return the user id of a job that Slurm lists."""
        return self._listed[job].uid

    @property
    def awaits_listing(self) -> bool:
        """Whether Slurm's list was not asked for since the last start."""
        return not all(map(self._is_confirmed, self._starts.values()))

    def jobs(self, now: float) -> Sequence[Job]:
        """Return the running jobs in order of start; `now` is the time in Unix seconds."""
        latest = {
            start.reported.job_id: start
            for start in sorted(self._starts.values(), key=lambda one: one.reported.outcome_id)
            if self._is_confirmed(start)
        }
        in_order = sorted(latest.values(), key=lambda one: (one.reported.started_at, one.reported.outcome_id))
        return [self._job(start, now) for start in in_order]

    def _job(self, start: _Start, now: float) -> Job:
        size, expected = self._listed[start.reported.job_id], start.reported.expected_s
        left = None if expected is None else expected - (now - start.reported.started_at)
        known = left is not None and left > 0  # a job that takes longer than expected may take much longer
        return Job(str(start.reported.job_id), size.nodes, size.processes, start.curve, left if known else None)

    def _is_confirmed(self, start: _Start) -> bool:
        found = self._listed.get(start.reported.job_id)
        return found is not None and found.uid == start.reported.uid


def _curve(reported: ForwardedJob) -> BandwidthCurve | None:
    try:
        return curve_in(reported.parametrization)
    except ArbiterError as error:
        log.warning(line("curve-unreadable", job=reported.job_id, error=error))
        return None
