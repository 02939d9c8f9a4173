# SPDX-License-Identifier: Apache-2.0
"""Aggregate bandwidth of several jobs, the measure by which policies are compared (Bez 2020, equation 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprise.matcher.arbiter.forwarding_job import Job, Share


@dataclass(frozen=True)
class Run:
    """A job that has ended: the megabytes that it wrote and read, and its run time in seconds at the client."""

    written: float
    read: float
    seconds: float

    @property
    def bandwidth(self) -> float:
        """Bandwidth in MB/s over the whole run, including the time without I/O."""
        return (self.written + self.read) / self.seconds


@dataclass(frozen=True)
class Expected:
    """Sum of expected bandwidths in MB/s, and the ids of jobs that are left out because their bandwidth is unknown."""

    bandwidth: float
    unknown: Sequence[str]


def aggregate(runs: Iterable[Run]) -> float:
    """Return the sum of the runs' bandwidths in MB/s.

    Each run is averaged over its own duration, so this is not the number of bytes in a common interval.
    """
    return sum(run.bandwidth for run in runs)


def expected(jobs: Sequence[Job], shares: Mapping[str, Share], forwarders: int | None = None) -> Expected:
    """Return the sum of the mean bandwidths that jobs have with their shares of a pool of `forwarders`.

    None means that every job has its forwarders for itself, even if the pool has fewer. Each bandwidth is that of the
    job alone: interference at the file system is not modelled.
    """
    known = bandwidths(jobs, shares, forwarders)
    return Expected(sum(known.values()), [job.id for job in jobs if job.id not in known])


def bandwidths(jobs: Sequence[Job], shares: Mapping[str, Share], forwarders: int | None = None) -> dict[str, float]:
    """Return the mean bandwidth of each job in MB/s, by job id; jobs whose curves do not have it are left out.

    A job that shares the one forwarder with others has the bandwidth of one forwarder, divided by the number of jobs
    that share it. If shares exceed the pool, forwarders serve several jobs, and the bandwidths of all jobs with
    forwarders are reduced in proportion.
    """
    sharers = sum(shares[job.id].shared for job in jobs)
    given = sum(shares[job.id].forwarders for job in jobs)
    part = 1.0 if forwarders is None else min(1.0, forwarders / max(1, given))
    found = {}
    for job in jobs:
        share = shares[job.id]
        number = 1 if share.shared else share.forwarders
        if job.curve is not None and number in job.curve:
            mean = job.curve[number].mean
            found[job.id] = mean / sharers if share.shared else mean * part if number else mean
    return found
